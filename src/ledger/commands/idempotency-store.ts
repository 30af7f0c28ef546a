import { sql } from 'kysely'
import { Refusal, toDate } from '../../kernel/index.ts'
import { type Order, storedOrder } from '../order.ts'
import type { IdempotencyKey } from './command.ts'
import { commandOutcome, type LedgerPorts, unwrapOutcome } from './execute-store.ts'

/** See Ledger.findStoredResult. The key stays locked until the transaction ends. */
export async function findStoredResult(
  { database, clock }: LedgerPorts,
  key: IdempotencyKey,
): Promise<{ result: unknown } | undefined> {
  const { rows } = await sql<{ outcome: unknown }>`
    SELECT idempotency_begin(${JSON.stringify(key)}::jsonb, ${toDate(clock.now())}::timestamptz) AS outcome`.execute(
    database,
  )
  const found = rows[0]?.outcome ?? undefined
  return found === undefined ? undefined : { result: unwrapOutcome(commandOutcome.parse(found), []) }
}

/** Requires a prior findStoredResult in the same transaction, which must also write the effect of the command. */
export async function storeResult(
  { database, clock }: LedgerPorts,
  key: IdempotencyKey,
  result: unknown,
): Promise<void> {
  await sql`SELECT idempotency_end(${JSON.stringify(key)}::jsonb, ${JSON.stringify(result)}::jsonb,
    ${toDate(clock.now())}::timestamptz)`.execute(database)
}

/** Deletes up to `limit` stored results that are older than a day. Returns the number of deleted results. */
export async function deleteExpiredResults({ database, clock }: LedgerPorts, limit: number): Promise<number> {
  const { rows } = await sql<{ deleted: number }>`
    SELECT idempotency_cleanup(${toDate(clock.now())}::timestamptz, ${limit}::integer) AS deleted`.execute(database)
  return rows[0]?.deleted ?? 0
}

/**
 * For a command whose first execution changes the state that it checks: a quote can be used only once, so a retry would
 * be refused.
 */
export async function replayOnRefusal(
  ports: LedgerPorts,
  key: IdempotencyKey,
  work: () => Promise<Order>,
): Promise<Order> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const stored = await findStoredResult(ports, key)
    if (!stored) throw error
    return storedOrder.parse(stored.result)
  }
}
