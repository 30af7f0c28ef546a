import { tmpdir } from 'node:os'
import { sql } from 'kysely'
import { afterAll, describe, expect, test } from 'vitest'
import * as contract from '../../../src/domains/recharges/contract.ts'
import { createRecharges } from '../../../src/domains/recharges/index.ts'
import { toIso } from '../../../src/kernel/index.ts'
import { openBlobs } from '../../../src/platform/blobs/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { handlerCaller } from '../../ledger/handler-caller.ts'
import { everyStore, type TestStore } from '../../ledger/stores.ts'
import { createTestBank } from '../../ledger/test-bank.ts'
import { refusalOf, words } from '../world.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))
const lifeMs = 60_000

const bench = async ({ database }: TestStore) => {
  const bank = await createTestBank(database)
  const { ledger, clock } = bank
  const card = { channelCode: 'CARD', channelName: 'Card', channelType: 'CARD', proofRequired: false } as const
  const transfer = { channelCode: 'BANK', channelName: 'Bank', channelType: 'BANK', proofRequired: false } as const
  const terms = { currency: 'USD', minAmount: '1', maxAmount: '100', dailyMax: '100', fixedFee: '0', feeRate: '0' }
  const { handlers } = createRecharges({
    ledger,
    clock,
    words,
    settings: { lifeMs, channels: [card, transfer].map((channel) => ({ ...channel, ...terms, enabled: true })) },
    expiryMs: 600_000,
    database,
    blobs: await openBlobs({ kind: 'disk' }, tmpdir()),
    fileOf: async () => undefined,
    isProof: () => true,
  })
  const [wallet, as, call] = [await bank.wallet('USD'), bank.account(), handlerCaller([handlers], clock)]
  const { workspace } = wallet
  const body = (amount: string, channelCode = 'CARD') => ({ walletBizId: wallet.id, channelCode, amount })
  return {
    clock,
    workspace,
    /** What withdrawals by a channel of that name have taken of the day. */
    withdrawn: (usageOf: string, minor: bigint) =>
      sql`INSERT INTO daily_usage VALUES (${workspace}, 'WITHDRAWAL', ${usageOf}, 'USD', ${toIso(clock.now())}, ${minor})`.execute(
        database,
      ),
    quote: (amount: string, channelCode?: string) =>
      call(contract.quoteRecharge, { as, workspace, body: body(amount, channelCode) }),
    create: (amount: string) =>
      call(contract.createRecharge, { as, workspace, requestId: systemIds.next(), body: body(amount) }),
    cancel: (recharge_id: string) =>
      call(contract.cancelRecharge, { as, workspace, params: { recharge_id }, body: { cancelReason: 'no more' } }),
    read: (recharge_id: string) => call(contract.readRecharge, { as, workspace, params: { recharge_id } }),
  }
}

describe.each(stores)('the daily limit of recharges on $name', (store) => {
  test.each(['quote', 'create'] as const)(
    'recharges.%s 200: what has run out takes no share of the day, before any job has come by',
    async (operation) => {
      const world = await bench(store)
      const { clock, create, read } = world
      const { bizId, expiresAt } = await create('100.00')
      clock.advance(lifeMs - 1)
      expect(await refusalOf(world.quote('100.00'))).toBe('WALLET.LIMIT_EXCEEDED')
      expect(await refusalOf(create('100.00'))).toBe('WALLET.LIMIT_EXCEEDED')
      clock.advance(1)
      expect(await world[operation]('100.00')).toMatchObject({ amount: '100.00' })
      expect(await read(bizId)).toMatchObject({ version: 2, updatedAt: expiresAt, rechargeStatus: { code: 'EXPIRED' } })
    },
  )

  test('recharges.create 422, quote 422 WALLET.LIMIT_EXCEEDED: what is still waited for does, and what has run out gives back its own only', async () => {
    const { clock, quote, create } = await bench(store)
    await create('40.00')
    clock.advance(lifeMs / 2)
    await create('60.00')
    clock.advance(lifeMs / 2)
    expect(await refusalOf(quote('40.01'))).toBe('WALLET.LIMIT_EXCEEDED')
    expect(await refusalOf(create('40.01'))).toBe('WALLET.LIMIT_EXCEEDED')
    const made = await create('40.00')
    expect(await refusalOf(create('1.00'))).toBe('WALLET.LIMIT_EXCEEDED')
    expect(made).toMatchObject({ rechargeStatus: { code: 'PENDING_PAYMENT' } })
  })

  test('recharges.cancel 200 gives back what it took, and nothing of another kind, channel, currency or workspace', async () => {
    const world = await bench(store)
    const { database } = store
    const { bizId } = await world.create('100.00')
    const others = [
      sql`workspace_biz_id, 'WITHDRAWAL', usage_of, currency, day`,
      sql`workspace_biz_id, order_type, 'BANK', currency, day`,
      sql`workspace_biz_id, order_type, usage_of, 'EUR', day`,
      sql`gen_random_uuid(), order_type, usage_of, currency, day`,
      sql`workspace_biz_id, order_type, usage_of, currency, day - 1`,
    ]
    const own = sql`workspace_biz_id = ${world.workspace} AND (order_type, usage_of, currency) = ('RECHARGE', 'CARD', 'USD')`
    for (const other of others)
      await sql`INSERT INTO daily_usage SELECT ${other}, used FROM daily_usage WHERE ${own}`.execute(database)
    const full = async () => (await sql`SELECT FROM daily_usage WHERE used = 10000`.execute(database)).rows.length
    const before = await full()
    await world.cancel(bizId)
    expect(await full()).toBe(before - 1)
    expect(await world.quote('100.00')).toMatchObject({ amount: '100.00' })
  })

  test('recharges.quote 200: what was ordered by one channel takes no share of another one’s day', async () => {
    const { quote, create } = await bench(store)
    await create('100.00')
    expect(await refusalOf(quote('1.00'))).toBe('WALLET.LIMIT_EXCEEDED')
    expect(await quote('100.00', 'BANK')).toMatchObject({ amount: '100.00' })
  })

  test('recharges.quote 200: what was withdrawn by a channel of the same name takes no share of the day', async () => {
    const { quote, withdrawn } = await bench(store)
    await withdrawn('BANK', 10_000n)
    expect(await quote('100.00', 'BANK')).toMatchObject({ amount: '100.00' })
  })
})
