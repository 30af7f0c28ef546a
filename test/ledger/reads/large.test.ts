import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Database } from '../../../src/database/index.ts'
import { addMs, type Instant } from '../../../src/kernel/index.ts'
import { createLedger, type Ledger } from '../../../src/ledger/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { types } from '../../banking/world.ts'
import { rowsRead } from '../../harness/rows-read.ts'
import { everyStore } from '../stores.ts'
import { createTestBank, type TestBank, type TestWallet } from '../test-bank.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

const entryCount = 5_000

/** One recharge per second. The triggers would be slow. */
function fill(database: Database, { id, workspace, currency }: TestWallet, from: Instant) {
  return database.transaction().execute(async (tx) => {
    const at = sql`(to_timestamp(${from}::float8 / 1000) + n * interval '1 second')`
    await sql`SET LOCAL session_replication_role = replica`.execute(tx)
    await sql`
      INSERT INTO orders (workspace_biz_id, biz_id, order_type, order_no, status, target_wallet_biz_id, data, history,
        created_at, updated_at)
      SELECT ${workspace}::uuid, gen_random_uuid(), 'RECHARGE', 'REC-' || n, 'COMPLETED', ${id}::uuid,
        '{"remark": "many"}', '[{"status": "COMPLETED"}]', ${at}, ${at}
        FROM generate_series(1, ${entryCount}::int) AS n`.execute(tx)
    await sql`
      INSERT INTO ledger_entries (account_biz_id, sequence, biz_id, workspace_biz_id, transaction_biz_id, order_biz_id,
        currency, amount, balance_after, flow_type, created_at)
      SELECT ${id}::uuid, row_number() OVER (ORDER BY created_at), gen_random_uuid(), ${workspace}::uuid, biz_id, biz_id,
        ${currency}::text, 1, row_number() OVER (ORDER BY created_at), 'RECHARGE', created_at
        FROM orders WHERE target_wallet_biz_id = ${id}::uuid`.execute(tx)
    await sql`UPDATE ledger_accounts SET sequence = ${entryCount}::int WHERE biz_id = ${id}::uuid`.execute(tx)
  })
}

describe.each(stores)('a wallet with thousands of entries on $name', ({ database }) => {
  let bank: TestBank
  let wallet: TestWallet
  let start: Instant
  const countRows = (work: (ledger: Ledger) => Promise<unknown>) =>
    rowsRead(database, (watched) => work(createLedger({ database: watched, clock: bank.clock, ids: systemIds, types })))

  beforeAll(async () => {
    bank = await createTestBank(database)
    wallet = await bank.wallet('USD')
    start = bank.clock.now()
    await fill(database, wallet, start)
    bank.clock.advance(entryCount * 1_000)
    await sql`ANALYZE`.execute(database)
  })

  test('wallets.listFlows 200: a late page reads only the orders of its own entries', async () => {
    const page = {
      wallet: wallet.id,
      workspace: wallet.workspace,
      sortOrder: 'desc',
      currentPage: 150,
      pageSize: 20,
    } as const
    const { items, pagination } = await bank.ledger.listFlows(page)
    expect(pagination.totalRecords).toBe(entryCount)
    expect(items.map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: 20 }, (_, i) => entryCount - 149 * 20 - i),
    )
    expect(items[0]).toMatchObject({ orderType: 'RECHARGE', remark: 'many' })
    const read = await countRows((ledger) => ledger.listFlows(page))
    expect(read('orders')).toBe(20)
  })

  test('wallets.readBalance 200: a past balance reads the last entry before the instant', async () => {
    const scope = { wallet: wallet.id, workspace: wallet.workspace }
    const at = addMs(start, 2_500_500)
    const past = await bank.ledger.readBalanceAt(scope, at)
    expect(past).toMatchObject({ asOf: at, balance: { total: { minor: 2_500n }, version: 2_500 } })
    const read = await countRows((ledger) => ledger.readBalanceAt(scope, at))
    expect(read('ledger_entries')).toBeLessThan(10)
  })

  test('provideFunds: reads opening entries only, not those of exchanges', async () => {
    const amounts = [{ minor: 100n, currency: 'USD' }]
    await bank.ledger.ensureHouseAccounts(['USD'])
    await bank.ledger.provideFunds('LIQUIDITY', amounts)
    const house = sql`(SELECT biz_id FROM ledger_accounts WHERE kind = 'LIQUIDITY' AND workspace_biz_id IS NULL)`
    await database.transaction().execute(async (tx) => {
      await sql`SET LOCAL session_replication_role = replica`.execute(tx)
      await sql`
        INSERT INTO ledger_entries SELECT ${house}, sequence + 1, gen_random_uuid(), NULL, transaction_biz_id, order_biz_id,
          currency, amount, balance_after, 'EXCHANGE', created_at
          FROM ledger_entries WHERE account_biz_id = ${wallet.id}::uuid`.execute(tx)
    })
    await sql`ANALYZE ledger_entries`.execute(database)
    const read = await countRows((ledger) => ledger.provideFunds('LIQUIDITY', amounts))
    expect(read('ledger_entries')).toBe(1)
  })

  test('recharges.listAll 200: reads only the recharges with a proof, without the completed ones', async () => {
    const query = {
      type: 'RECHARGE',
      workspace: null,
      statuses: ['PROOF_SUBMITTED'],
      expiry: { from: 'PENDING_PAYMENT', to: 'EXPIRED', at: bank.clock.now() },
      sortBy: 'createdAt',
      sortOrder: 'desc',
      currentPage: 1,
      pageSize: 20,
    } as const
    const read = await countRows((ledger) => ledger.listOrders(query))
    expect(read('orders')).toBe(0)
  })
})
