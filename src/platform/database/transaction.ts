import type { Transaction } from 'kysely'
import { sqlState } from './fault.ts'
import type { Database, Tables } from './tables/index.ts'

const maximumAttempts = 5
/** serialization_failure and deadlock_detected: the whole transaction may simply be run again. */
const retried = new Set(['40001', '40P01'])

/** Runs work in one transaction; a lost race is run again, a bounded number of times. The work must be repeatable. */
export const inTransaction = async <T>(
  database: Database,
  work: (tx: Transaction<Tables>) => Promise<T>,
): Promise<T> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await database.transaction().execute(work)
    } catch (error) {
      if (attempt >= maximumAttempts || !retried.has(sqlState(error) ?? '')) throw error
    }
  }
}
