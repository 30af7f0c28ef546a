import { tmpdir } from 'node:os'
import { sql } from 'kysely'
import { afterAll, describe, expect, test } from 'vitest'
import * as contract from '../../../src/banking/recharges/contract.ts'
import { createRecharges } from '../../../src/banking/recharges/index.ts'
import { inTransaction } from '../../../src/database/index.ts'
import { toIso } from '../../../src/kernel/index.ts'
import { openBlobs } from '../../../src/platform/blobs/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { handlerCaller } from '../../ledger/handler-caller.ts'
import { everyStore, type TestStore } from '../../ledger/stores.ts'
import { createTestBank } from '../../ledger/test-bank.ts'
import { refusalOf, transactionOf, words } from '../world.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))
const lifeMs = 60_000

async function openRecharges({ database }: TestStore) {
  const bank = await createTestBank(database)
  const { ledger, clock } = bank
  const card = { channelCode: 'CARD', channelName: 'Card', channelType: 'CARD', proofRequired: false } as const
  const transfer = { channelCode: 'BANK', channelName: 'Bank', channelType: 'BANK', proofRequired: false } as const
  const terms = { currency: 'USD', minAmount: '1', maxAmount: '100', dailyMax: '100', fixedFee: '0', feeRate: '0' }
  const { handlers } = createRecharges({
    ledger,
    clock,
    words,
    settings: {
      referenceRequired: true,
      lifeMs,
      channels: [card, transfer].map((channel) => ({ ...channel, ...terms, enabled: true })),
    },
    database,
    transaction: transactionOf(database),
    notices: { queue: async () => undefined },
    once: (_, work) => inTransaction(database, work),
    blobs: await openBlobs({ kind: 'disk', minimumFreeBytes: 0 }, tmpdir()),
    fileOf: async () => undefined,
    keepAsProof: async () => undefined,
    isProof: () => true,
  })
  const [wallet, as, call] = [await bank.wallet('USD'), bank.account(), handlerCaller([handlers], clock)]
  const { workspace } = wallet
  const body = (amount: string, channelCode = 'CARD') => ({ walletBizId: wallet.id, channelCode, amount })
  return {
    clock,
    workspace,
    recordWithdrawals: (usageOf: string, minor: bigint) =>
      sql`INSERT INTO ledger_usage VALUES (gen_random_uuid(), 'WORKSPACE', ${workspace}, ${`WITHDRAWAL ${usageOf}`},
        'USD', ${workspace}, ${minor}, ${toIso(clock.now())})`.execute(database),
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
    'recharges.%s 200: expired recharges do not count toward the daily limit, even before the job',
    async (operation) => {
      const fixture = await openRecharges(store)
      const { clock, create, read } = fixture
      const { bizId, expiresAt } = await create('100.00')
      clock.advance(lifeMs - 1)
      expect(await refusalOf(fixture.quote('100.00'))).toBe('WALLET.LIMIT_EXCEEDED')
      expect(await refusalOf(create('100.00'))).toBe('WALLET.LIMIT_EXCEEDED')
      clock.advance(1)
      expect(await fixture[operation]('100.00')).toMatchObject({ amount: '100.00' })
      expect(await read(bizId)).toMatchObject({ version: 2, updatedAt: expiresAt, rechargeStatus: { code: 'EXPIRED' } })
    },
  )

  test('recharges.create, quote 422 WALLET.LIMIT_EXCEEDED: pending recharges count, expired ones do not', async () => {
    const { clock, quote, create } = await openRecharges(store)
    await create('40.00')
    clock.advance(lifeMs / 2)
    await create('60.00')
    clock.advance(lifeMs / 2)
    expect(await refusalOf(quote('40.01'))).toBe('WALLET.LIMIT_EXCEEDED')
    expect(await refusalOf(create('40.01'))).toBe('WALLET.LIMIT_EXCEEDED')
    const created = await create('40.00')
    expect(await refusalOf(create('1.00'))).toBe('WALLET.LIMIT_EXCEEDED')
    expect(created).toMatchObject({ rechargeStatus: { code: 'PENDING_PAYMENT' } })
  })

  test('recharges.cancel 200: frees the usage of its own type, channel, currency, day and workspace only', async () => {
    const fixture = await openRecharges(store)
    const { database } = store
    const { bizId } = await fixture.create('100.00')
    const others = [
      sql`counted_by, subject, 'WITHDRAWAL CARD', currency, workspace_biz_id, created_at`,
      sql`counted_by, subject, 'RECHARGE BANK', currency, workspace_biz_id, created_at`,
      sql`counted_by, subject, usage_of, 'EUR', workspace_biz_id, created_at`,
      sql`counted_by, gen_random_uuid(), usage_of, currency, gen_random_uuid(), created_at`,
      sql`counted_by, subject, usage_of, currency, workspace_biz_id, created_at - interval '1 day'`,
    ]
    const own = sql`subject = ${fixture.workspace} AND (counted_by, usage_of, currency) = ('WORKSPACE', 'RECHARGE CARD', 'USD')`
    for (const other of others)
      await sql`INSERT INTO ledger_usage
        (counted_by, subject, usage_of, currency, workspace_biz_id, created_at, order_biz_id, amount)
        SELECT ${other}, gen_random_uuid(), amount FROM ledger_usage WHERE ${own}`.execute(database)
    const countFull = async () =>
      (await sql`SELECT FROM ledger_usage WHERE counted_by = 'WORKSPACE' AND amount = 10000`.execute(database)).rows
        .length
    const before = await countFull()
    await fixture.cancel(bizId)
    expect(await countFull()).toBe(before - 1)
    expect(await fixture.quote('100.00')).toMatchObject({ amount: '100.00' })
  })

  test('recharges.quote 200: the daily limit is per channel', async () => {
    const { quote, create } = await openRecharges(store)
    await create('100.00')
    expect(await refusalOf(quote('1.00'))).toBe('WALLET.LIMIT_EXCEEDED')
    expect(await quote('100.00', 'BANK')).toMatchObject({ amount: '100.00' })
  })

  test('recharges.quote 200: withdrawals by a channel of the same name do not count', async () => {
    const { quote, recordWithdrawals } = await openRecharges(store)
    await recordWithdrawals('BANK', 10_000n)
    expect(await quote('100.00', 'BANK')).toMatchObject({ amount: '100.00' })
  })
})
