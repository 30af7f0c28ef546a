import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { signInOnly, stepUp } from '../../harness/sign-in.ts'
import { codeOf } from '../money-world.ts'
import { startWithdrawalsWorld, type WithdrawalsWorld } from '../withdrawals-world.ts'

const { mainUsd, workspace } = developmentIds
const stepUpRequired = [403, 'ACCESS.STEP_UP_REQUIRED']
const held = [403, 'ACCESS.PAYOUT_HOLD']

let world: WithdrawalsWorld
beforeAll(async () => {
  world = await startWithdrawalsWorld(({ money, access }) => {
    money.stepUpAbove = { currency: 'USD', amount: '200.00', apiKeys: 'refuse' }
    access.payoutHoldMs = 3_600_000
  })
})
afterAll(() => world?.portico.stop())

describe('outgoing money and owners of a stolen session', () => {
  test('transfers, withdrawals 403 ACCESS.STEP_UP_REQUIRED: above the sum; the same id then succeeds', async () => {
    const { portico, data, orderOf } = world
    const session = await signInOnly(portico)
    const send = (path: string, body: unknown, id: string = randomUUID(), to = workspace) =>
      portico.call('POST', `/web/v1/consumer${path}`, {
        token: session.accessToken,
        workspace: to,
        headers: { 'x-request-id': id },
        body,
      })
    const { bizId: other } = await data(send('/workspaces', { workspaceName: 'Elsewhere' }))
    const wallets: { bizId: string; currency: string }[] = await data(
      portico.call('GET', '/web/v1/consumer/wallets', { token: session.accessToken, workspace: other }),
    )
    const target = wallets.find(({ currency }) => currency === 'USD')?.bizId
    const transfer = (amount: string) => ({
      sourceWalletBizId: mainUsd,
      targetWalletBizId: target,
      amount,
      currency: 'USD',
    })
    expect((await send('/transfer/command/create', transfer('100.00'))).status).toBe(200)
    expect((await send('/withdrawals', orderOf({ amount: '100.00' }))).status).toBe(200)
    const [first, second] = [randomUUID(), randomUUID()]
    const attempt = async () => [
      await send('/transfer/command/create', transfer('1.00'), first),
      await send('/withdrawals', orderOf({ amount: '10.00' }), second),
    ]
    expect((await attempt()).map(codeOf)).toEqual([stepUpRequired, stepUpRequired])
    await stepUp(portico, session.accessToken)
    expect((await attempt()).map(({ status }) => status)).toEqual([200, 200])
    const [again] = await attempt()
    expect(again?.body.data).toMatchObject({ amount: '1.00', transferStatus: { code: 'COMPLETED' } })
  })

  test('invitations.create 403 ACCESS.STEP_UP_REQUIRED, withdrawals 403 ACCESS.PAYOUT_HOLD: OWNER grants', async () => {
    const { portico, web, data, orderOf } = world
    const roles: { bizId: string; roleType: { code: string } }[] = await data(web('GET', '/roles'))
    const owners = roles.find(({ roleType }) => roleType.code === 'OWNER')?.bizId
    const invitation = { email: `${randomUUID()}@example.test`, roleBizId: owners }
    const session = await signInOnly(portico)
    const invite = (token: string) =>
      portico.call('POST', '/web/v1/consumer/invitations', { token, workspace, body: invitation })
    expect(codeOf(await invite(session.accessToken))).toEqual(stepUpRequired)
    expect((await invite(world.owner.accessToken)).status).toBe(200)

    const member = await signInOnly(portico, 'member@demo.test')
    const members: { items: { userBizId: string; isOwner: boolean }[] } = await data(web('GET', '/roles/members'))
    const userBizId = members.items.find(({ isOwner }) => !isOwner)?.userBizId
    await data(web('POST', '/roles/members/role/change', { userBizId, roleBizId: owners }))
    const response = await portico.call('POST', '/web/v1/consumer/withdrawals', {
      token: member.accessToken,
      workspace,
      headers: { 'x-request-id': randomUUID() },
      body: orderOf({ amount: '10.00' }),
    })
    expect(codeOf(response)).toEqual(held)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(3_000)
  })
})

describe('one sum of outgoing value over currencies and kinds', () => {
  let own: WithdrawalsWorld
  beforeAll(async () => {
    own = await startWithdrawalsWorld(({ money }) => {
      money.stepUpAbove = { currency: 'USD', amount: '200.00', apiKeys: 'refuse' }
    })
  })
  afterAll(() => own?.portico.stop())

  test('transfers, withdrawals 403 ACCESS.STEP_UP_REQUIRED: converted at the rates in force, rounded up', async () => {
    const { portico, data, web, system, orderOf, eur } = own
    const { bizId: other } = await data(web('POST', '/workspaces', { workspaceName: 'Elsewhere' }))
    const wallets: { bizId: string; currency: string }[] = await data(
      web('GET', '/wallets', undefined, { workspace: other }),
    )
    const { secret } = await data(
      web('POST', '/api-keys', { apiKeyName: 'Payments', permissionCodes: ['wallet:read', 'transfer:create'] }),
    )
    const { accessToken } = await signInOnly(portico)
    const post = (path: string, body: object, token = accessToken, chain = '/web/v1/consumer') =>
      portico.call('POST', `${chain}${path}`, {
        ...{ token, workspace, body },
        headers: { 'x-request-id': randomUUID() },
      })
    const transfer = (currency: 'USD' | 'EUR', amount: string) => ({
      sourceWalletBizId: currency === 'USD' ? mainUsd : developmentIds.mainEur,
      targetWalletBizId: wallets.find((wallet) => wallet.currency === currency)?.bizId,
      ...{ amount, currency },
    })
    const send = (currency: 'USD' | 'EUR', amount: string, ...as: [token?: string, chain?: string]) =>
      post('/transfer/command/create', transfer(currency, amount), ...as)
    const withdrawEur = { walletBizId: developmentIds.mainEur, withdrawalChannelBizId: eur, amount: '40.00' }

    // 54.26 USD, 43.41 USD and 100.00 USD.
    expect((await send('EUR', '50.00')).status).toBe(200)
    expect((await post('/withdrawals', withdrawEur)).status).toBe(200)
    expect((await post('/withdrawals', orderOf({ amount: '100.00' }))).status).toBe(200)
    expect(codeOf(await send('USD', '2.34'))).toEqual(stepUpRequired)
    expect(codeOf(await send('EUR', '2.15'))).toEqual(stepUpRequired)
    expect(codeOf(await post('/withdrawals', { ...withdrawEur, amount: '20.00' }))).toEqual(stepUpRequired)
    expect(codeOf(await send('USD', '2.34', secret, '/api/v1/consumer'))).toEqual([422, 'WALLET.LIMIT_EXCEEDED'])
    // 2.14 EUR are 2.33 USD, and 2.22 USD at the rate of the operator, which waits for a second one.
    const rate = { sourceCurrency: 'USD', targetCurrency: 'EUR', rate: '0.965' }
    expect((await data(system('POST', '/exchange-rates', rate))).pending).toMatchObject({ rate: '0.965' })
    expect(codeOf(await send('EUR', '2.20'))).toEqual(stepUpRequired)
    expect((await send('EUR', '2.14')).status).toBe(200)
    expect(codeOf(await send('USD', '0.01'))).toEqual(stepUpRequired)
    await stepUp(portico, accessToken)
    expect((await send('EUR', '10.00')).status).toBe(200)
  })
})
