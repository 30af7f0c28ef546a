import { sql } from 'kysely'
import { addMs, type Clock, type Instant } from '../kernel/index.ts'
import { sqlState } from './errors.ts'
import type { OpenDatabase } from './port.ts'
import { setIdleTimeout } from './postgres/session.ts'
import type { Database, Tx } from './tables.ts'

const maxAttempts = 5
/** serialization_failure and deadlock_detected: nothing was written, so the work can run again. */
const conflicts = new Set(['40001', '40P01'])

/** Runs work, up to 5 times if it fails by a serialization failure or a deadlock. The work must be repeatable. */
export const retryOnConflict = async <T>(work: () => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt >= maxAttempts || !conflicts.has(sqlState(error) ?? '')) throw error
    }
  }
}

/** Runs work in one transaction, and repeats the transaction after a conflict. */
export const inTransaction = <T>(database: Database, work: (tx: Tx) => Promise<T>): Promise<T> =>
  retryOnConflict(() => database.transaction().execute(work))

/** A consistent view of the store. If `asOf` is not null, the reader must ignore rows written after it. */
export interface Snapshot {
  store: Database
  asOf: Instant | null
}

/** Runs reads on one snapshot, and ends it when they are done. */
export type ReadSnapshot = <T>(work: (snapshot: Snapshot) => Promise<T>) => Promise<T>

/**
 * Reads many pages as of one instant. PostgreSQL: one REPEATABLE READ transaction, which blocks nobody. PGlite has one
 * connection, which a transaction would hold for its whole length. So each page is a separate statement there, and the
 * reader is limited to rows up to `asOf`. That is exact because statements run in order: every row with an earlier
 * timestamp is queued before the statement that is awaited here.
 */
export const createSnapshotReader =
  ({ database, kind }: Pick<OpenDatabase, 'database' | 'kind'>, clock: Clock): ReadSnapshot =>
  async (work) => {
    if (kind === 'postgres') {
      const transaction = database.transaction().setIsolationLevel('repeatable read').setAccessMode('read only')
      return transaction.execute(async (store) => {
        // The transaction is idle while the client reads a page. It holds no locks.
        await sql.raw(setIdleTimeout(0)).execute(store)
        return work({ store, asOf: null })
      })
    }
    const asOf = addMs(clock.now(), -1)
    await sql`SELECT 1`.execute(database)
    return work({ store: database, asOf })
  }
