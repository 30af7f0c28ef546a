import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Discrepancy, ledgerCheckJob } from '../../src/ledger/index.ts'
import { createJobRunner } from '../../src/platform/jobs/index.ts'
import { systemIds } from '../../src/platform/runtime/index.ts'
import { everyStore } from './stores.ts'
import { createTestBank, type TestBank, type TestWallet } from './test-bank.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

const outside = `(SELECT biz_id FROM ledger_accounts WHERE workspace_biz_id IS NULL AND kind = 'CLEARING')`

/** What even a superuser's hand can do, with every trigger switched off, is found and named. */
describe.each(stores)('verifyLedger on $name', ({ database }) => {
  let bank: TestBank
  let a: TestWallet
  /** The outside world’s account. */
  let world: string
  const order = systemIds.next()
  beforeAll(async () => {
    bank = await createTestBank(database)
  })
  beforeEach(async () => {
    a = await bank.wallet('USD', '100.00')
    const { rows } = await sql<{ biz_id: string }>`${sql.raw(outside)}`.execute(database)
    world = rows[0]?.biz_id ?? ''
  })

  const after = (...statements: string[]) =>
    database
      .transaction()
      .execute(async (tx) => {
        await sql`SET LOCAL session_replication_role = replica`.execute(tx)
        for (const statement of statements) await sql.raw(statement).execute(tx)
        throw await bank.ledger.within(tx).verifyLedger()
      })
      .catch((found: unknown) => found)

  test('a book without a fault is null', async () => {
    expect(await after()).toBeNull()
  })

  /** A hold of so much on an account, of an order that stands so, as if every trigger had done its part. */
  const held = (workspace: string, account: string, amount: number, status: string): string => {
    const history = JSON.stringify([{ status, at: '2026-04-01T00:00:00.000Z', actorBizId: null, reason: null }])
    return `DO $$ BEGIN
      ALTER TABLE ledger_accounts DROP CONSTRAINT ledger_accounts_available;
      INSERT INTO orders (workspace_biz_id, biz_id, order_type, order_no, status, data, history, created_at, updated_at)
        VALUES ('${workspace}', '${order}', 'TRANSFER', 'x', '${status}', '{}', '${history}', now(), now());
      INSERT INTO ledger_holds (workspace_biz_id, biz_id, account_biz_id, order_biz_id, amount, status, created_at)
        VALUES ('${workspace}', '${systemIds.next()}', ${account}, '${order}', ${amount}, 'HELD', now());
      UPDATE ledger_accounts SET held = ${amount} WHERE biz_id = ${account};
    END $$`
  }
  const own = () => a.id
  const outsides = () => world
  const orders = () => order

  test.each<[string, (a: TestWallet) => string, () => string]>([
    [
      'entries of a currency sum to zero',
      ({ id }) => `DELETE FROM ledger_entries WHERE account_biz_id = '${id}'`,
      () => 'USD',
    ],
    [
      'entries of an account are consecutive',
      ({ id }) => `UPDATE ledger_entries SET balance_after = 1 WHERE account_biz_id = '${id}'`,
      () => `${a.id} 1`,
    ],
    [
      'entries of an account are consecutive',
      ({ id }) => `UPDATE ledger_entries SET sequence = 2 WHERE account_biz_id = '${id}'`,
      () => `${a.id} 2`,
    ],
    [
      'entries of an account are consecutive',
      () => `UPDATE ledger_entries SET created_at = '2001-01-01Z' WHERE account_biz_id = ${outside} AND sequence = 2`,
      () => `${world} 2`,
    ],
    [
      'balance equals the sum of entries',
      ({ id }) => `UPDATE ledger_accounts SET balance = 1 WHERE biz_id = '${id}'`,
      own,
    ],
    [
      'balance equals the sum of entries',
      ({ id }) => `UPDATE ledger_accounts SET currency = 'EUR' WHERE biz_id = '${id}'`,
      own,
    ],
    [
      'balance equals the sum of entries',
      ({ id }) => `UPDATE ledger_accounts SET sequence = 7 WHERE biz_id = '${id}'`,
      own,
    ],
    ['every entry has an account', ({ id }) => `DELETE FROM ledger_accounts WHERE biz_id = '${id}'`, own],
    [
      'held amount equals the open holds',
      ({ id }) => `UPDATE ledger_accounts SET held = 1 WHERE biz_id = '${id}'`,
      own,
    ],
    [
      'available funds are not negative',
      ({ id, workspace }) => held(workspace, `'${id}'`, 10_001, 'PENDING_APPROVAL'),
      own,
    ],
    ['available funds are not negative', ({ workspace }) => held(workspace, outside, 1, 'PENDING_APPROVAL'), outsides],
    ['ended orders have no open holds', ({ id, workspace }) => held(workspace, `'${id}'`, 10_000, 'COMPLETED'), orders],
    [
      'order status equals the last history entry',
      ({ workspace }) =>
        `DO $$ BEGIN
           ALTER TABLE orders DROP CONSTRAINT orders_history;
           INSERT INTO orders (workspace_biz_id, biz_id, order_type, order_no, status, data, history, created_at, updated_at)
           VALUES ('${workspace}', '${order}', 'TRANSFER', 'x', 'COMPLETED', '{}', '[]', now(), now());
         END $$`,
      orders,
    ],
  ])('%s: the first discrepancy is named', async (rule, statement, subject) => {
    expect(await after(statement(a))).toEqual({ rule, violations: 1, subject: subject() })
    expect(await bank.ledger.verifyLedger()).toBeNull()
  })

  test('money of the house in a sandbox is named', async () => {
    const house = `(SELECT biz_id FROM ledger_accounts WHERE workspace_biz_id IS NULL AND kind = 'CLEARING' AND currency = 'USD')`
    const play = await bank.wallet('USD', undefined, await bank.workspace('SANDBOX'))
    const transaction = systemIds.next()
    const entry = (account: string, amount: number) =>
      `(${account}, '${systemIds.next()}', '${transaction}', 'USD', ${amount}, 'OPENING', '2027-01-01Z')`
    const mixed = database.transaction().execute(async (tx) => {
      await sql
        .raw(
          `INSERT INTO ledger_entries (account_biz_id, biz_id, transaction_biz_id, currency, amount, flow_type, created_at)
           VALUES ${entry(house, -5)}, ${entry(`'${play.id}'`, 5)}`,
        )
        .execute(tx)
      throw await bank.ledger.within(tx).verifyLedger()
    })
    await expect(mixed).rejects.toEqual({ rule: 'sandbox balances sum to zero', subject: 'USD', violations: 1 })
  })

  test('entries that only cancel out across transactions are named', async () => {
    const moved = `UPDATE ledger_entries SET transaction_biz_id = '${systemIds.next()}' WHERE account_biz_id = '${a.id}'`
    expect(await after(moved)).toMatchObject({ rule: 'entries of a transaction sum to zero', violations: 2 })
  })

  test('one replica checks in an interval, and what it finds every other can read; a check that fails changes nothing', async () => {
    const { ledger, clock } = bank
    let checks = 0
    const replica = (found: Discrepancy | null | Error) =>
      createJobRunner({
        ...{ database, clock, ids: systemIds, onFailure: () => undefined },
        settings: { concurrency: 1, pollMs: 1_000, leaseMs: 30_000 },
        kinds: [
          ledgerCheckJob({
            ...{ clock, everyMs: 60_000, onBroken: () => undefined },
            ledger,
            verifyLedger: async () => {
              checks += 1
              if (found instanceof Error) throw found
              return found
            },
          }),
        ],
      })
    const interval = async (found: Discrepancy | null | Error) => {
      const replicas = [replica(found), replica(found)]
      for (const each of replicas) await each.start()
      for (const each of replicas) await each.runOne()
      for (const each of replicas) await each.stop()
      const last = await ledger.readLastCheck()
      clock.advance(60_000)
      return last?.broken
    }
    const broken = { rule: 'a rule', subject: 'somewhere', violations: 2 }
    expect(await interval(broken)).toEqual(broken)
    expect(await interval(new Error('no store'))).toEqual(broken)
    expect(await interval(null)).toBeNull()
    expect(checks).toBe(3)
  })
})

test('a check of the book lets others have the one connection of an embedded store between two rules', async () => {
  const embedded = stores.find(({ name }) => name === 'PGlite')
  if (!embedded) throw new Error('no embedded store')
  const { ledger } = await createTestBank(embedded.database)
  const ended: string[] = []
  const checking = ledger.checkInvariants().then(() => ended.push('check'))
  await sql`SELECT 1`.execute(embedded.database).then(() => ended.push('other'))
  await checking
  expect(ended).toEqual(['other', 'check'])
})
