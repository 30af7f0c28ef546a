import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTransfer } from '../../src/banking/transfers/contract.ts'
import { addMs, type Instant } from '../../src/kernel/index.ts'
import { type Discrepancy, ledgerCheckJob, verifyRecentChanges } from '../../src/ledger/index.ts'
import { systemIds } from '../../src/platform/runtime/index.ts'
import { everyStore } from './stores.ts'
import { createTestBank, type TestBank, type TestWallet } from './test-bank.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

/** A superuser can disable the triggers. */
const changes: [rule: string, change: (wallet: TestWallet) => string][] = [
  [
    'entries of a transaction sum to zero',
    ({ id }) =>
      `DELETE FROM ledger_entries WHERE account_biz_id = '${id}'
        AND sequence = (SELECT max(sequence) FROM ledger_entries WHERE account_biz_id = '${id}')`,
  ],
  [
    'entries of an account are consecutive',
    ({ id }) => `UPDATE ledger_entries SET balance_after = balance_after + 1 WHERE account_biz_id = '${id}'`,
  ],
  [
    'entries of an account are consecutive',
    ({ id }) => `UPDATE ledger_entries SET sequence = sequence + 5 WHERE account_biz_id = '${id}'`,
  ],
  [
    'balance equals the sum of entries',
    ({ id }) => `UPDATE ledger_accounts SET balance = balance + 1 WHERE biz_id = '${id}'`,
  ],
  [
    'balance equals the sum of entries',
    ({ id }) => `UPDATE ledger_accounts SET sequence = sequence + 1 WHERE biz_id = '${id}'`,
  ],
  ['every entry has an account', ({ id }) => `DELETE FROM ledger_accounts WHERE biz_id = '${id}'`],
  ['held amount equals the open holds', ({ id }) => `UPDATE ledger_accounts SET held = 1 WHERE biz_id = '${id}'`],
  [
    'order status equals the last history entry',
    ({ id }) =>
      `DO $$ BEGIN
         ALTER TABLE orders DROP CONSTRAINT orders_history;
         UPDATE orders SET status = 'FAILED' WHERE source_wallet_biz_id = '${id}';
       END $$`,
  ],
]

describe.each(stores)('verifyRecentChanges on $name', ({ database }) => {
  let bank: TestBank
  let old: TestWallet
  let recent: TestWallet
  let since: Instant
  const sender = systemIds.next<'account'>()
  const transfer = (from: TestWallet, to: TestWallet) =>
    bank.call(createTransfer, {
      as: sender,
      workspace: from.workspace,
      body: { sourceWalletBizId: from.id, targetWalletBizId: to.id, amount: '1.00', currency: 'USD' },
    })

  beforeAll(async () => {
    bank = await createTestBank(database)
    old = await bank.wallet('USD', '100.00')
    const payee = await bank.wallet('USD')
    await transfer(old, payee)
    bank.clock.advance(3_600_000)
    since = bank.clock.now()
    recent = await bank.wallet('USD', '100.00')
    await transfer(recent, payee)
  })

  class Rollback extends Error {}
  const findAfter = async (statement: string) => {
    const found: { recent?: Discrepancy | null; whole?: Discrepancy | null } = {}
    const changed = database.transaction().execute(async (tx) => {
      await sql`SET LOCAL session_replication_role = replica`.execute(tx)
      await sql.raw(statement).execute(tx)
      found.recent = await verifyRecentChanges(tx, since)
      found.whole = await bank.ledger.within(tx).verifyLedger()
      throw new Rollback()
    })
    await expect(changed).rejects.toThrow(Rollback)
    return found
  }

  test('null for a consistent ledger', async () => {
    expect(await verifyRecentChanges(database, since)).toBeNull()
    expect(await verifyRecentChanges(database, addMs(since, -86_400_000))).toBeNull()
    expect(await verifyRecentChanges(database, addMs(since, 86_400_000))).toBeNull()
  })

  test.each(changes)('reports a change of a recent row: %s', async (rule, change) => {
    const found = await findAfter(change(recent))
    expect(found.recent).toMatchObject({ rule })
    expect(found.whole).toEqual(expect.any(Object))
  })

  test.each(changes)('leaves a change of an old row to the check of the whole ledger: %s', async (_rule, change) => {
    expect(await findAfter(change(old))).toEqual({ recent: null, whole: expect.any(Object) })
  })

  test('ledger.check job: recent changes from ten minutes before the last check, else the whole ledger', async () => {
    const { ledger, clock } = bank
    await database.deleteFrom('ledger_check').execute()
    const checks: (number | null)[] = []
    let found: Discrepancy | null = null
    const job = ledgerCheckJob({
      ...{ ledger, clock, everyMs: 60_000, wholeEveryMs: 3_600_000, onBroken: () => undefined },
      verifyLedger: async (_signal, from) => {
        checks.push(from === null ? null : from - clock.now())
        return found
      },
    })
    const run = async (advanceMs: number): Promise<void> => {
      clock.advance(advanceMs)
      await job.work({}, { jobId: 'x', attempt: 1, signal: new AbortController().signal, drop: () => undefined })
    }
    await run(0)
    await run(60_000)
    await run(120_000)
    found = { rule: 'a rule', subject: 'somewhere', violations: 1 }
    await run(60_000)
    await run(60_000)
    found = null
    await run(60_000)
    await run(60_000)
    await run(3_600_000)
    expect(checks).toEqual([null, -660_000, -720_000, -660_000, null, null, -660_000, null])
    expect(await ledger.readLastCheck()).toMatchObject({ broken: null, wholeVerifiedAt: clock.now() })
  })
})
