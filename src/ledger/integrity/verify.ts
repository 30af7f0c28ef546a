import type { Database } from '../../database/index.ts'
import { checkInvariants } from './invariants-store.ts'

export interface Discrepancy {
  /** The name of the violated invariant. */
  rule: string
  /** The first account, transaction, order or currency that violates it. */
  subject: string
  violations: number
}

/** The first violated invariant of the ledger, or null if all hold. Reads the whole ledger. */
export const verifyLedger = async (database: Database): Promise<Discrepancy | null> => {
  const broken = (await checkInvariants(database)).find((check) => check.violations > 0)
  return broken ? { rule: broken.name, subject: broken.first ?? 'unknown', violations: broken.violations } : null
}
