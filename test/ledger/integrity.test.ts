import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Discrepancy, ledgerCheckJob } from '../../src/ledger/index.ts'
import { createJobRunner } from '../../src/platform/jobs/index.ts'
import { systemIds } from '../../src/platform/runtime/index.ts'
import { everyStore } from './stores.ts'
import { createTestBank, type TestBank, type TestWallet } from './test-bank.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

const clearing = `(SELECT biz_id FROM ledger_accounts WHERE workspace_biz_id IS NULL AND kind = 'CLEARING')`

/** A superuser can disable the triggers. The check must find every change. */
describe.each(stores)('verifyLedger on $name', ({ database }) => {
  let bank: TestBank
  let a: TestWallet
  let clearingId: string
  const order = systemIds.next()
  beforeAll(async () => {
    bank = await createTestBank(database)
  })
  beforeEach(async () => {
    a = await bank.wallet('USD', '100.00')
    const { rows } = await sql<{ bizId: string }>`${sql.raw(clearing)}`.execute(database)
    clearingId = rows[0]?.bizId ?? ''
  })

  const verifyAfter = (...statements: string[]) =>
    database
      .transaction()
      .execute(async (tx) => {
        await sql`SET LOCAL session_replication_role = replica`.execute(tx)
        for (const statement of statements) await sql.raw(statement).execute(tx)
        throw await bank.ledger.within(tx).verifyLedger()
      })
      .catch((found: unknown) => found)

  test('verifyLedger: null for a consistent ledger', async () => {
    expect(await verifyAfter()).toBeNull()
  })

  /** As the triggers would do. */
  const insertHold = (workspace: string, account: string, amount: number, status: string): string => {
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
  const ownAccount = () => a.id
  const clearingAccount = () => clearingId
  const violatingOrder = () => order

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
      () => `UPDATE ledger_entries SET created_at = '2001-01-01Z' WHERE account_biz_id = ${clearing} AND sequence = 2`,
      () => `${clearingId} 2`,
    ],
    [
      'balance equals the sum of entries',
      ({ id }) => `UPDATE ledger_accounts SET balance = 1 WHERE biz_id = '${id}'`,
      ownAccount,
    ],
    [
      'balance equals the sum of entries',
      ({ id }) => `UPDATE ledger_accounts SET currency = 'EUR' WHERE biz_id = '${id}'`,
      ownAccount,
    ],
    [
      'balance equals the sum of entries',
      ({ id }) => `UPDATE ledger_accounts SET sequence = 7 WHERE biz_id = '${id}'`,
      ownAccount,
    ],
    ['every entry has an account', ({ id }) => `DELETE FROM ledger_accounts WHERE biz_id = '${id}'`, ownAccount],
    [
      'held amount equals the open holds',
      ({ id }) => `UPDATE ledger_accounts SET held = 1 WHERE biz_id = '${id}'`,
      ownAccount,
    ],
    [
      'available funds are not negative',
      ({ id, workspace }) => insertHold(workspace, `'${id}'`, 10_001, 'PENDING_APPROVAL'),
      ownAccount,
    ],
    [
      'available funds are not negative',
      ({ workspace }) => insertHold(workspace, clearing, 1, 'PENDING_APPROVAL'),
      clearingAccount,
    ],
    [
      'ended orders have no open holds',
      ({ id, workspace }) => insertHold(workspace, `'${id}'`, 10_000, 'COMPLETED'),
      violatingOrder,
    ],
    [
      'order status equals the last history entry',
      ({ workspace }) =>
        `DO $$ BEGIN
           ALTER TABLE orders DROP CONSTRAINT orders_history;
           INSERT INTO orders (workspace_biz_id, biz_id, order_type, order_no, status, data, history, created_at, updated_at)
           VALUES ('${workspace}', '${order}', 'TRANSFER', 'x', 'COMPLETED', '{}', '[]', now(), now());
         END $$`,
      violatingOrder,
    ],
  ])('verifyLedger reports: %s', async (rule, statement, subject) => {
    expect(await verifyAfter(statement(a))).toEqual({ rule, violations: 1, subject: subject() })
    expect(await bank.ledger.verifyLedger()).toBeNull()
  })

  test('verifyLedger reports: sandbox balances sum to zero', async () => {
    const house = `(SELECT biz_id FROM ledger_accounts WHERE workspace_biz_id IS NULL AND kind = 'CLEARING' AND currency = 'USD')`
    const sandbox = await bank.wallet('USD', undefined, await bank.workspace('SANDBOX'))
    const transaction = systemIds.next()
    const entry = (account: string, amount: number) =>
      `(${account}, '${systemIds.next()}', '${transaction}', 'USD', ${amount}, 'OPENING', '2027-01-01Z')`
    const verified = database.transaction().execute(async (tx) => {
      await sql
        .raw(
          `INSERT INTO ledger_entries (account_biz_id, biz_id, transaction_biz_id, currency, amount, flow_type, created_at)
           VALUES ${entry(house, -5)}, ${entry(`'${sandbox.id}'`, 5)}`,
        )
        .execute(tx)
      throw await bank.ledger.within(tx).verifyLedger()
    })
    await expect(verified).rejects.toEqual({ rule: 'sandbox balances sum to zero', subject: 'USD', violations: 1 })
  })

  test('verifyLedger reports: entries of a transaction sum to zero', async () => {
    const change = `UPDATE ledger_entries SET transaction_biz_id = '${systemIds.next()}' WHERE account_biz_id = '${a.id}'`
    expect(await verifyAfter(change)).toMatchObject({ rule: 'entries of a transaction sum to zero', violations: 2 })
  })

  test('ledger.check job: one replica checks per interval, all read the result, a failed check keeps it', async () => {
    const { ledger, clock } = bank
    let checks = 0
    const replica = (found: Discrepancy | null | Error) =>
      createJobRunner({
        ...{ database, clock, ids: systemIds, onFailure: () => undefined, onDropped: () => undefined },
        settings: { concurrency: 1, pollMs: 1_000, leaseMs: 30_000 },
        kinds: [
          ledgerCheckJob({
            ...{ clock, everyMs: 60_000, wholeEveryMs: 60_000, onBroken: () => undefined },
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
    expect(await interval(new Error('store unavailable'))).toEqual(broken)
    expect(await interval(null)).toBeNull()
    expect(checks).toBe(3)
  })
})

test('checkInvariants on PGlite: other queries run between two invariants', async () => {
  const embedded = stores.find(({ name }) => name === 'PGlite')
  if (!embedded) throw new Error('embedded store missing')
  const { ledger } = await createTestBank(embedded.database)
  const ended: string[] = []
  const checking = ledger.checkInvariants().then(() => ended.push('check'))
  await sql`SELECT 1`.execute(embedded.database).then(() => ended.push('other'))
  await checking
  expect(ended).toEqual(['other', 'check'])
})
