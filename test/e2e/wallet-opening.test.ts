import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import { clientOf, signInAs } from '../harness/client.ts'
import { type Portico, startPortico } from '../harness/portico.ts'

describe('wallets in a currency that was added later', () => {
  let portico: Portico
  let owner: Client<'CONSUMER'>
  let member: Client<'CONSUMER'>
  let operator: Client<'SYSTEM'>
  let workspaceId: string

  beforeAll(async () => {
    portico = await startPortico({
      adjust: ({ money }) => {
        money.currencies = [...money.currencies, 'GBP']
      },
    })
    owner = clientOf(portico, 'CONSUMER')
    member = clientOf(portico, 'CONSUMER')
    operator = clientOf(portico, 'SYSTEM')
    await signInAs(portico, owner, 'owner@demo.test')
    await signInAs(portico, member, 'member@demo.test')
    await signInAs(portico, operator, 'operator@demo.test')
    // The seed opens wallets in USD and EUR only.
    workspaceId = (await owner.listWallets())[0]?.workspaceBizId ?? ''
  })
  afterAll(() => portico?.stop())

  test('wallets.create 200: opens the default wallet, in two parallel requests once', async () => {
    const body = { currency: 'GBP', walletName: 'Sterling' }
    const open = () => owner.createWallet({ workspaceId, body })
    const results = await Promise.allSettled([open(), open()])
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(results.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { status: 409, code: 'STATE.CONFLICT' },
    })
    const wallets = await owner.listWallets({ workspaceId })
    expect(wallets.filter(({ currency }) => currency === 'GBP')).toMatchObject([
      { walletName: 'Sterling', isDefault: true, walletStatus: { code: 'ACTIVE' }, currencyExponent: 2 },
    ])
  })

  test('wallets.create 200: a closed wallet does not bar its currency; the new wallet is the default', async () => {
    const { bizId } = await owner.createWorkspace({ body: { workspaceName: 'Again', workspaceKind: 'LIVE' } })
    const inUsd = async () =>
      (await owner.listWallets({ workspaceId: bizId })).filter(({ currency }) => currency === 'USD')
    const [former] = await inUsd()
    const params = { wallet_id: former?.bizId ?? '' }
    const open = () => owner.createWallet({ workspaceId: bizId, body: { currency: 'USD' } })
    const exchange = () =>
      owner.quoteExchange({
        workspaceId: bizId,
        body: { sourceCurrency: 'EUR', targetCurrency: 'USD', amount: '1.00', fixedSide: 'SOURCE' },
      })
    await operator.freezeWallet({ params, body: { reason: 'Ends' } })
    await expect(open()).rejects.toMatchObject({ code: 'STATE.CONFLICT' })
    await operator.closeWallet({ params, body: { reason: 'Ends' } })
    await expect(exchange()).rejects.toMatchObject({ code: 'WALLET.NOT_ACTIVE' })

    const results = await Promise.allSettled([open(), open()])
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect((await inUsd()).map(({ isDefault, walletStatus: { code } }) => [isDefault, code])).toEqual([
      [false, 'CLOSED'],
      [true, 'ACTIVE'],
    ])
    await exchange()
    expect((await owner.readWallet({ workspaceId: bizId, params })).walletStatus.code).toBe('CLOSED')
  })

  test('wallets.create: rejects unknown currencies, members without permission, and frozen workspaces', async () => {
    const codeOf = (currency: string, client = owner, workspace = workspaceId) =>
      client.createWallet({ workspaceId: workspace, body: { currency } }).then(
        () => 'none',
        (error) => error.code,
      )
    expect(await codeOf('USD')).toBe('STATE.CONFLICT')
    expect(await codeOf('CHF')).toBe('VALIDATION.INVALID_PARAMETER')
    expect(await codeOf('GBP', member)).toBe('ACCESS.PERMISSION_DENIED')
    const { bizId } = await owner.createWorkspace({ body: { workspaceName: 'Frozen', workspaceKind: 'LIVE' } })
    await operator.freezeWorkspace({ params: { workspace_id: bizId }, body: { reason: 'Under review' } })
    expect(await codeOf('GBP', owner, bizId)).toBe('ACCESS.PERMISSION_DENIED')
  })
})
