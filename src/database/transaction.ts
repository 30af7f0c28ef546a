import { sqlState } from './errors.ts'
import type { Database, Tx } from './tables.ts'

const maxAttempts = 5
/** serialization_failure and deadlock_detected: nothing was written, and the same may simply be run again. */
const retried = new Set(['40001', '40P01'])

/** Runs again, a bounded number of times, what has lost a race. The work must be repeatable. */
export const retryOnConflict = async <T>(work: () => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt >= maxAttempts || !retried.has(sqlState(error) ?? '')) throw error
    }
  }
}

/** Runs work in one transaction; one that lost a race is run again from its start. */
export const inTransaction = <T>(database: Database, work: (tx: Tx) => Promise<T>): Promise<T> =>
  retryOnConflict(() => database.transaction().execute(work))
