import type { Database } from '../database/index.ts'
import { type Instant, toDate } from '../kernel/index.ts'
import type { Discrepancy } from './invariants.ts'

export interface LastCheck {
  at: Instant
  /** Null when the book added up. */
  broken: Discrepancy | null
}

/** For every replica to go by, until the next check. */
export const keepCheck = async (database: Database, { at, broken }: LastCheck): Promise<void> => {
  const found = {
    checked_at: toDate(at),
    rule: broken?.rule ?? null,
    subject: broken?.subject ?? null,
    violations: broken?.violations ?? 0,
  }
  await database
    .insertInto('ledger_check')
    .values(found)
    .onConflict((conflict) => conflict.column('one').doUpdateSet(found))
    .execute()
}

/** Undefined where nobody has checked yet. */
export const readCheck = async (database: Database): Promise<LastCheck | undefined> => {
  const found = await database
    .selectFrom('ledger_check')
    .select(['checked_at as at', 'rule', 'subject', 'violations'])
    .executeTakeFirst()
  if (!found) return undefined
  const { at, rule, subject, violations } = found
  return { at, broken: rule === null || subject === null ? null : { rule, subject, violations } }
}
