import type { Database } from '../database/index.ts'
import { type BookCheck, checkBook } from './book-store.ts'

export interface Discrepancy {
  /** The rule that does not hold. */
  rule: string
  /** The account, transaction, order or currency where it first does not. */
  subject: string
  violations: number
}

/** Null when the whole book adds up; otherwise the first rule that is broken, and where. */
export const verifyBook = async (database: Database): Promise<Discrepancy | null> => {
  const broken = (await checkBook(database)).find((check: BookCheck) => check.violations > 0)
  return broken ? { rule: broken.name, subject: broken.first ?? 'unknown', violations: broken.violations } : null
}
