import { sql } from 'kysely'
import { z } from 'zod'
import type { Database } from '../database/index.ts'

const outcome = z.object({
  outcome: z.enum([
    'DONE',
    'REPLAY',
    'IN_PROGRESS',
    'ID_REUSED',
    'NOT_FOUND',
    'CURRENCY_MISMATCH',
    'NOT_ACTIVE',
    'INSUFFICIENT_FUNDS',
    'CONFLICT',
    'OWN_ORDER',
  ]),
  /** The place of the party at fault. */
  account: z.int().optional(),
  answer: z.unknown().optional(),
})
export type Outcome = z.output<typeof outcome>

/** One round trip: the function is the whole command, in the statement's own transaction or the caller's. */
export const callExecute = async (database: Database, command: object): Promise<Outcome> => {
  const result = await sql<{ outcome: unknown }>`
    SELECT ledger_execute(${JSON.stringify(command)}::jsonb) AS outcome`.execute(database)
  return outcome.parse(result.rows[0]?.outcome)
}

/** What is kept under a request's key; undefined when the command is still to be done. Takes the key's lock. */
export const callIdempotencyBegin = async (database: Database, key: object, at: Date): Promise<Outcome | undefined> => {
  const result = await sql<{ outcome: unknown }>`
    SELECT idempotency_begin(${JSON.stringify(key)}::jsonb, ${at}::timestamptz) AS outcome`.execute(database)
  const found = result.rows[0]?.outcome ?? undefined
  return found === undefined ? undefined : outcome.parse(found)
}

export const callIdempotencyEnd = async (database: Database, key: object, answer: unknown, at: Date): Promise<void> => {
  await sql`SELECT idempotency_end(${JSON.stringify(key)}::jsonb, ${JSON.stringify(answer)}::jsonb,
    ${at}::timestamptz)`.execute(database)
}

/** Removes expired answers, a bounded number at a time; answers how many. */
export const callIdempotencyCleanup = async (database: Database, at: Date, most: number): Promise<number> => {
  const result = await sql<{ gone: number }>`
    SELECT idempotency_cleanup(${at}::timestamptz, ${most}::integer) AS gone`.execute(database)
  return result.rows[0]?.gone ?? 0
}
