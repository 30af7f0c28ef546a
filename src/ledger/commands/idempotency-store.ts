import { sql } from 'kysely'
import { Refusal, toDate } from '../../kernel/index.ts'
import { type Order, storedOrder } from '../order.ts'
import type { IdempotencyKey } from './command.ts'
import { commandOutcome, type LedgerPorts, unwrapOutcome } from './execute-store.ts'

/**
 * The stored result of a request, or undefined if it has not been executed. Inside a transaction, locks the request's key
 * until it ends. Throws REQUEST.IN_PROGRESS or REQUEST.ID_REUSED.
 */
export const findStoredResult = async (
  { database, clock }: LedgerPorts,
  key: IdempotencyKey,
): Promise<{ result: unknown } | undefined> => {
  const { rows } = await sql<{ outcome: unknown }>`
    SELECT idempotency_begin(${JSON.stringify(key)}::jsonb, ${toDate(clock.now())}::timestamptz) AS outcome`.execute(
    database,
  )
  const found = rows[0]?.outcome ?? undefined
  return found === undefined ? undefined : { result: unwrapOutcome(commandOutcome.parse(found), []) }
}

/** Stores the result of a command without postings, in the transaction of its effect, after `findStoredResult`. */
export const storeResult = async (
  { database, clock }: LedgerPorts,
  key: IdempotencyKey,
  result: unknown,
): Promise<void> => {
  await sql`SELECT idempotency_end(${JSON.stringify(key)}::jsonb, ${JSON.stringify(result)}::jsonb,
    ${toDate(clock.now())}::timestamptz)`.execute(database)
}

/** Deletes up to `limit` stored results that are older than a day. Returns how many it deleted. */
export const deleteExpiredResults = async ({ database, clock }: LedgerPorts, limit: number): Promise<number> => {
  const { rows } = await sql<{ deleted: number }>`
    SELECT idempotency_cleanup(${toDate(clock.now())}::timestamptz, ${limit}::integer) AS deleted`.execute(database)
  return rows[0]?.deleted ?? 0
}

/**
 * The order that `work` returns, or the stored one if `work` is refused and the same request has succeeded before. For commands
 * that check state that their first execution has changed, such as a used quote.
 */
export const replayOnRefusal = async (
  ports: LedgerPorts,
  key: IdempotencyKey,
  work: () => Promise<Order>,
): Promise<Order> => {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const stored = await findStoredResult(ports, key)
    if (!stored) throw error
    return storedOrder.parse(stored.result)
  }
}
