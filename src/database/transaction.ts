import { sqlState } from './errors.ts'
import type { Database, Tx } from './tables.ts'

const maxAttempts = 5
/** serialization_failure and deadlock_detected: nothing was written, so the work can run again. */
const conflicts = new Set(['40001', '40P01'])

/** Runs work, and runs it again after a serialization failure or a deadlock, up to 5 times. The work must be repeatable. */
export const retryOnConflict = async <T>(work: () => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt >= maxAttempts || !conflicts.has(sqlState(error) ?? '')) throw error
    }
  }
}

/** Runs work in one transaction, and runs the transaction again after a conflict. */
export const inTransaction = <T>(database: Database, work: (tx: Tx) => Promise<T>): Promise<T> =>
  retryOnConflict(() => database.transaction().execute(work))
