import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTransfer } from '../../../src/banking/transfers/contract.ts'
import { detached, inTransaction } from '../../../src/database/index.ts'
import { hours, minutes, toDate } from '../../../src/kernel/index.ts'
import { systemClock, systemIds } from '../../../src/platform/runtime/index.ts'
import { refusalOf } from '../../banking/world.ts'
import { needs } from '../../harness/needs.ts'
import { everyStore, lockWaits } from '../stores.ts'
import { createTestBank, type TestBank, type TestWallet } from '../test-bank.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

describe.each(stores)('X-Request-Id on $name', ({ name, database }) => {
  let bank: TestBank
  let a: TestWallet
  let b: TestWallet
  const caller = systemIds.next<'account'>()
  beforeAll(async () => {
    bank = await createTestBank(database)
    a = await bank.wallet('USD', '100.00')
    b = await bank.wallet('USD', '100.00')
  })

  const transfer = (requestId: string, amount = '1.00', as = caller, from = a, to = b) =>
    bank.call(createTransfer, {
      as,
      workspace: from.workspace,
      requestId,
      body: { sourceWalletBizId: from.id, targetWalletBizId: to.id, amount, currency: 'USD' },
    })
  const ageResults = async (ms: number): Promise<void> => {
    await sql`UPDATE idempotency SET created_at = created_at - make_interval(secs => ${ms / 1000})`.execute(database)
  }
  const costOf = async (work: () => Promise<unknown>): Promise<number> => {
    const before = Number(await bank.available(a))
    await work()
    return Math.round((before - Number(await bank.available(a))) * 100)
  }

  test('the same request: returns the first result and executes once', async () => {
    const cost = await costOf(async () => {
      const first = await transfer('same')
      bank.clock.advance(60_000)
      expect(await transfer('same')).toEqual(first)
    })
    expect(cost).toBe(100)
  })

  test('the same request: returns the first result even if the command would now be refused', async () => {
    const first = await transfer('before-freeze')
    await bank.ledger.changeWalletStatus({ wallet: b.id, from: 'ACTIVE', to: 'FROZEN', at: bank.clock.now() })
    expect(await transfer('before-freeze')).toEqual(first)
    await bank.ledger.changeWalletStatus({ wallet: b.id, from: 'FROZEN', to: 'ACTIVE', at: bank.clock.now() })
  })

  test('REQUEST.ID_REUSED: another body with the same id', async () => {
    await transfer('reused')
    expect(await refusalOf(transfer('reused', '2.00'))).toBe('REQUEST.ID_REUSED')
  })

  test('the id is scoped to account and workspace', async () => {
    const cost = await costOf(async () => {
      await transfer('shared')
      await transfer('shared', '1.00', systemIds.next<'account'>())
      await transfer('shared', '1.00', caller, b, a)
    })
    expect(cost).toBe(100)
  })

  test('the id is scoped to the operation', async () => {
    await transfer('of-transfers')
    const key = { account: caller, workspace: a.workspace, requestId: 'of-transfers', bodyHash: 'another' }
    const earlier = (operation: string) => bank.ledger.findStoredResult({ ...key, operation })
    expect(await earlier('withdrawals.create')).toBeUndefined()
    expect(await refusalOf(earlier('transfers.create'))).toBe('REQUEST.ID_REUSED')
  })

  test('a result that expires during a transaction: every check of the transaction finds it', async () => {
    const key = { account: caller, workspace: a.workspace, operation: 'x.create', requestId: 'old', bodyHash: 'same' }
    const store = (result: string) =>
      inTransaction(database, async (tx) => {
        const stored = await bank.ledger.within(tx).findStoredResult(key)
        if (!stored) await bank.ledger.within(tx).storeResult(key, result)
        return stored
      })
    await store('first')
    await sql`UPDATE idempotency SET created_at = least(${toDate(bank.clock.now())}::timestamptz, clock_timestamp())
      - interval '24 hours' + interval '1 second' WHERE request_id = 'old'`.execute(database)
    const found = await inTransaction(database, async (tx) => {
      const within = bank.ledger.within(tx)
      const before = await within.findStoredResult(key)
      await sql`SELECT pg_sleep(1.1)`.execute(tx)
      bank.clock.advance(1_100)
      // PGlite has one connection.
      if (name !== 'PGlite') await detached(() => bank.ledger.deleteExpiredResults(100))
      return [before, await within.findStoredResult(key)]
    })
    expect(found).toEqual([{ result: 'first' }, { result: 'first' }])
    expect(await store('second')).toBeUndefined()
  })

  test('a refusal is not stored', async () => {
    const poor = await bank.wallet('USD')
    expect(await refusalOf(transfer('poor', '1.00', caller, poor, a))).toBe('WALLET.INSUFFICIENT_FUNDS')
    await transfer('topping-up', '1.00', caller, a, poor)
    expect((await transfer('poor', '1.00', caller, poor, a)).transferStatus.code).toBe('COMPLETED')
  })

  test('concurrent requests: one executes, the others get its result or REQUEST.IN_PROGRESS', async () => {
    const cost = await costOf(async () => {
      for (let round = 0; round < 20; round++) {
        const codes = await Promise.all([1, 2, 3].map(() => refusalOf(transfer(`twice-${round}`))))
        expect(codes).toContain('none')
        expect(codes.every((code) => code === 'none' || code === 'REQUEST.IN_PROGRESS')).toBe(true)
      }
    })
    expect(cost).toBe(2_000)
  })

  test(
    'REQUEST.IN_PROGRESS: the first request is still running',
    needs(name !== 'PGlite', 'PGlite has one connection'),
    async () => {
      const { promise: released, resolve: release } = Promise.withResolvers<void>()
      const { promise: locked, resolve: isLocked } = Promise.withResolvers<void>()
      const blocker = database.transaction().execute(async (tx) => {
        await sql`SELECT FROM ledger_accounts WHERE biz_id = ${a.id} FOR UPDATE`.execute(tx)
        isLocked()
        await released
      })
      await locked
      const first = transfer('slow')
      const waiting = () => lockWaits(database)
      try {
        await expect.poll(waiting).toBe(1)
        expect(await refusalOf(transfer('slow'))).toBe('REQUEST.IN_PROGRESS')
        const key = {
          account: caller,
          workspace: a.workspace,
          operation: createTransfer.id,
          requestId: 'slow',
          bodyHash: '',
        }
        const others = [
          { account: bank.account() },
          { workspace: b.workspace },
          { operation: 'x' },
          { requestId: 'fast' },
        ]
        for (const other of others) expect(await bank.ledger.findStoredResult({ ...key, ...other })).toBeUndefined()
        expect(await refusalOf(bank.ledger.findStoredResult(key))).toBe('REQUEST.IN_PROGRESS')
      } finally {
        release()
      }
      await blocker
      const order = await first
      expect(await transfer('slow')).toEqual(order)
    },
  )

  test('results expire after a day and are deleted', async () => {
    bank.clock.advance(systemClock.now() - bank.clock.now())
    const first = await transfer('old')
    await ageResults(hours(24) - minutes(1))
    expect(await transfer('old')).toEqual(first)
    await ageResults(minutes(2))
    const again = await transfer('old', '2.00')
    expect(again.bizId).not.toBe(first.bizId)
    expect(await transfer('old', '2.00')).toEqual(again)
    expect(await bank.ledger.deleteExpiredResults(2)).toBe(2)
    expect(await bank.ledger.deleteExpiredResults(1_000)).toBeGreaterThan(0)
    expect(await bank.ledger.deleteExpiredResults(1_000)).toBe(0)
    expect(await refusalOf(transfer('old', '3.00'))).toBe('REQUEST.ID_REUSED')
  })

  test('deleteExpiredResults: does not read unexpired results', async () => {
    await bank.ledger.deleteExpiredResults(1_000)
    await sql`INSERT INTO idempotency (account_biz_id, workspace_biz_id, operation, request_id, body_hash, result, created_at)
      SELECT gen_random_uuid(), gen_random_uuid(), 'many', n::text, '', 'null', now() FROM generate_series(1, 5000) AS n`.execute(
      database,
    )
    await sql`ANALYZE idempotency`.execute(database)
    await database.transaction().execute(async (tx) => {
      const read = async () =>
        (
          await sql<{ read: number }>`SELECT (seq_tup_read + idx_tup_fetch)::int AS read
          FROM pg_stat_xact_user_tables WHERE relname = 'idempotency'`.execute(tx)
        ).rows[0]?.read
      const before = await read()
      expect(await bank.ledger.within(tx).deleteExpiredResults(1_000)).toBe(0)
      expect(await read()).toBe(before)
    })
  })

  test.each([
    ['ahead of', 1],
    ['behind', -1],
  ])('a clock a day %s the database’s: no request executes twice on any replica', async (side, sign) => {
    bank.clock.advance(systemClock.now() - bank.clock.now())
    const [mine, theirs] = [`mine ${side}`, `theirs ${side}`]
    const first = await transfer(theirs)
    bank.clock.advance(sign * hours(25))
    expect(await transfer(theirs)).toEqual(first)
    const second = await transfer(mine)
    expect(await transfer(mine)).toEqual(second)
    await bank.ledger.deleteExpiredResults(1_000)
    bank.clock.advance(-sign * hours(25))
    expect(await transfer(theirs)).toEqual(first)
    expect(await transfer(mine)).toEqual(second)
  })
})
