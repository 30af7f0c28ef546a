import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { confirmation } from '../../harness/confirmation.ts'
import type { Answer } from '../../harness/http.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Session, signIn } from '../../harness/sign-in.ts'
import { type AccessWorld, startAccessWorld } from '../access-world.ts'

/** Sandbox money does not need the house accounts. */
describe('sandbox money', needsStore(), () => {
  let world: AccessWorld
  let operator: Session
  let workspace: string
  const wallets: Record<string, string> = {}

  const web = (method: 'GET' | 'POST', path: string, body?: object) =>
    world.data(world.owner, method, path, { workspace, ...(body && { body }) })
  const request = (method: string, path: string, body?: object): Promise<Answer> =>
    world.portico.call(method, `/web/v1/system${path}`, { token: operator.accessToken, ...(body && { body }) })
  const system = async (method: string, path: string, body?: object) => {
    const response = await request(method, path, body)
    expect(response.status, response.text).toBe(200)
    return response.body.data
  }
  const balance = async (currency: string): Promise<string> =>
    (await web('GET', `/wallets/${wallets[currency]}/balance`)).availableBalance
  const houseOf = async (order: string): Promise<string[]> => {
    const postings: { ledgerAccount: string }[] = await system('GET', `/ledger/orders/${order}/postings`)
    return [...new Set(postings.map(({ ledgerAccount }) => ledgerAccount))].filter((name) => name !== 'WALLET').sort()
  }
  const channel = () =>
    web('POST', '/withdrawal-channels', {
      channelType: 'BANK',
      currency: 'USD',
      country: 'DE',
      accountHolderName: 'Ada Lovelace',
      accountNumber: 'DE89370400440532013000',
      bankCode: 'COBADEFF',
    })
  const quoted = async () => {
    const body = { sourceCurrency: 'USD', targetCurrency: 'EUR', amount: '100.00', fixedSide: 'SOURCE' }
    return (await web('POST', '/exchanges/quote', body)).quoteBizId
  }

  beforeAll(async () => {
    world = await startAccessWorld()
    operator = await signIn(world.portico, 'operator@demo.test')
    workspace = await world.workspace(world.owner, 'Play', 'SANDBOX')
    for (const { currency, bizId } of await web('GET', '/wallets')) wallets[currency] = bizId
  })
  afterAll(() => world?.portico.stop())

  test('recharges.confirm, exchanges.create and withdrawals.complete 200 in a SANDBOX: own counterparts', async () => {
    const { bizId: recharge } = await web('POST', '/recharges', {
      walletBizId: wallets.USD,
      channelCode: 'CARD_USD',
      amount: '100.00',
    })
    await system('POST', `/recharges/${recharge}/confirm`, confirmation())
    expect(await houseOf(recharge)).toEqual(['SANDBOX:USD'])
    expect(await balance('USD')).toBe('10096.80')

    const { bizId: exchange } = await web('POST', '/exchanges', { quoteBizId: await quoted() })
    expect(await houseOf(exchange)).toEqual(['SANDBOX:EUR', 'SANDBOX:USD'])

    const { bizId: withdrawalChannelBizId } = await channel()
    await system('POST', `/withdrawal-channels/${withdrawalChannelBizId}/verify`)
    const { bizId: withdrawal } = await web('POST', '/withdrawals', {
      walletBizId: wallets.USD,
      withdrawalChannelBizId,
      amount: '10.00',
    })
    await system('POST', `/withdrawals/${withdrawal}/approve`)
    await system('POST', `/withdrawals/${withdrawal}/complete`)
    expect(await houseOf(withdrawal)).toEqual(['SANDBOX:USD'])
    expect(await system('GET', '/ledger/invariants')).toMatchObject({ holds: true })
  })

  test("operators' lists 200: mark sandbox items, and exclude them on request", async () => {
    await web('POST', '/recharges', { walletBizId: wallets.USD, channelCode: 'CARD_USD', amount: '50.00' })
    for (const list of ['/recharges', '/withdrawals', '/withdrawal-channels']) {
      const { items } = await system('GET', `${list}?workspaceKind=SANDBOX`)
      expect(items.length, list).toBeGreaterThan(0)
      for (const item of items)
        expect(item).toMatchObject({ workspaceBizId: workspace, workspaceKind: { code: 'SANDBOX', value: 10050102 } })
      const live = (await system('GET', `${list}?workspaceKind=LIVE`)).items
      expect(live.filter((item: { workspaceBizId: string }) => item.workspaceBizId === workspace)).toEqual([])
    }
    for (const list of ['/recharges', '/withdrawals']) {
      const [item] = (await system('GET', `${list}?workspaceKind=SANDBOX`)).items
      expect(await system('GET', `${list}/${item.bizId}`)).toEqual(item)
    }
    expect((await system('GET', '/transfers/pending?workspaceKind=SANDBOX')).items).toEqual([])
    expect((await request('GET', '/recharges?workspaceKind=OTHER')).status).toBe(400)
    expect((await web('GET', '/recharges')).items[0].workspaceKind).toBeUndefined()
  })

  test('sandbox.reset 200: deletes quotes and channels, restores opening balances; the ledger balances', async () => {
    const quoteBizId = await quoted()
    const body = { quoteBizId }
    await web('POST', '/sandbox/reset')
    expect(await web('GET', '/withdrawal-channels')).toEqual([])
    const gone = await world.call(world.owner, 'POST', '/exchanges', { workspace, body })
    expect([gone.status, gone.body.code]).toEqual([404, 'RESOURCE.NOT_FOUND'])
    expect([await balance('USD'), await balance('EUR')]).toEqual(['10000.00', '10000.00'])
    const recharges: { rechargeStatus: { code: string } }[] = (await web('GET', '/recharges')).items
    expect(recharges.map(({ rechargeStatus: { code } }) => code).sort()).toEqual(['CANCELLED', 'COMPLETED'])
    await channel()
    expect(await system('GET', '/ledger/invariants')).toMatchObject({ holds: true })
  })

  test('sandbox.reset 200: restarts the daily limits', async () => {
    const recharge = { walletBizId: wallets.USD, channelCode: 'CARD_USD', amount: '5000.00' }
    const recharged = async () => {
      const { bizId } = await web('POST', '/recharges', recharge)
      await system('POST', `/recharges/${bizId}/confirm`, confirmation())
    }
    for (let times = 0; times < 4; times++) await recharged()
    const exceeded = await world.call(world.owner, 'POST', '/recharges', { workspace, body: recharge })
    expect([exceeded.status, exceeded.body.code]).toEqual([422, 'WALLET.LIMIT_EXCEEDED'])
    await web('POST', '/sandbox/reset')
    await recharged()
  })

  test('sandbox.reset 200: each ended order has a failure reason', async () => {
    const { bizId: withdrawalChannelBizId } = await channel()
    await system('POST', `/withdrawal-channels/${withdrawalChannelBizId}/verify`)
    const order = { walletBizId: wallets.USD, amount: '10.00' }
    const pending = await web('POST', '/withdrawals', { ...order, withdrawalChannelBizId })
    await system('POST', `/withdrawals/${pending.bizId}/approve`)
    const waiting = await web('POST', '/withdrawals', { ...order, withdrawalChannelBizId })
    const unpaid = await web('POST', '/recharges', { ...order, channelCode: 'CARD_USD' })
    await web('POST', '/sandbox/reset')
    expect(await web('GET', `/withdrawals/${pending.bizId}`)).toMatchObject({
      withdrawalStatus: { code: 'FAILED' },
      failureReason: 'SANDBOX_RESET',
    })
    expect(await web('GET', `/withdrawals/${waiting.bizId}`)).toMatchObject({
      withdrawalStatus: { code: 'CANCELLED' },
      failureReason: null,
    })
    expect(await web('GET', `/recharges/${unpaid.bizId}`)).toMatchObject({
      rechargeStatus: { code: 'CANCELLED' },
      cancelReason: 'SANDBOX_RESET',
    })
  })
})
