import { sql } from 'kysely'
import { addMs, type Clock, type Instant } from '../kernel/index.ts'
import { sqlState } from './errors.ts'
import type { OpenDatabase } from './port.ts'
import { setIdleTimeout } from './postgres/session.ts'
import type { Database, Tx } from './tables.ts'

const maxAttempts = 5
/**
 * SQLSTATEs serialization_failure and deadlock_detected. PostgreSQL has rolled the transaction back, so a retry is
 * safe.
 */
const conflicts = new Set(['40001', '40P01'])

/**
 * Runs `work`, and retries it after a serialization failure or a deadlock, up to 5 attempts in total. Each attempt
 * calls `work` from the beginning.
 */
export const retryOnConflict = async <T>(work: () => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt >= maxAttempts || !conflicts.has(sqlState(error) ?? '')) throw error
    }
  }
}

/** Runs `work` in a transaction. Retries the whole transaction after a serialization failure or a deadlock. */
export const inTransaction = <T>(database: Database, work: (tx: Tx) => Promise<T>): Promise<T> =>
  retryOnConflict(() => database.transaction().execute(work))

/** A consistent view of the database. If `asOf` is not null, the reader must ignore rows written after `asOf`. */
export interface Snapshot {
  store: Database
  asOf: Instant | null
}

/** Runs `work` on a snapshot, and releases the snapshot when `work` settles. */
export type ReadSnapshot = <T>(work: (snapshot: Snapshot) => Promise<T>) => Promise<T>

/**
 * Returns a function that reads many pages as of the same instant.
 *
 * On PostgreSQL, the reads share one REPEATABLE READ transaction, which does not block other transactions.
 *
 * PGlite has only one connection, and a transaction would block all other statements until it ends. Each page is
 * therefore a separate statement, and the reader selects only rows up to `asOf`. The result is exact because PGlite
 * executes statements in the order in which they are queued. The awaited SELECT below completes only after every
 * statement that could write a row with an earlier timestamp.
 */
export const createSnapshotReader =
  ({ database, kind }: Pick<OpenDatabase, 'database' | 'kind'>, clock: Clock): ReadSnapshot =>
  async (work) => {
    if (kind === 'postgres') {
      const transaction = database.transaction().setIsolationLevel('repeatable read').setAccessMode('read only')
      return transaction.execute(async (store) => {
        // The transaction is idle while the client downloads a page. Disable the idle timeout, because the transaction
        // holds no locks that block writers.
        await sql.raw(setIdleTimeout(0)).execute(store)
        return work({ store, asOf: null })
      })
    }
    const asOf = addMs(clock.now(), -1)
    await sql`SELECT 1`.execute(database)
    return work({ store: database, asOf })
  }
