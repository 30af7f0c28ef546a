import type { Database } from '../../database/index.ts'
import { type Instant, toDate } from '../../kernel/index.ts'
import type { Discrepancy } from './invariants-store.ts'

export interface LastCheck {
  at: Instant
  /** Null if the ledger was consistent. */
  broken: Discrepancy | null
}

/** Stores the result of the latest check for all replicas. */
export const recordCheck = async (database: Database, { at, broken }: LastCheck): Promise<void> => {
  const row = {
    checked_at: toDate(at),
    rule: broken?.rule ?? null,
    subject: broken?.subject ?? null,
    violations: broken?.violations ?? 0,
  }
  await database
    .insertInto('ledger_check')
    .values(row)
    .onConflict((conflict) => conflict.column('one').doUpdateSet(row))
    .execute()
}

/** Undefined before the first check. */
export const readLastCheck = async (database: Database): Promise<LastCheck | undefined> => {
  const found = await database
    .selectFrom('ledger_check')
    .select(['checked_at as at', 'rule', 'subject', 'violations'])
    .executeTakeFirst()
  if (!found) return undefined
  const { at, rule, subject, violations } = found
  return { at, broken: rule === null || subject === null ? null : { rule, subject, violations } }
}
