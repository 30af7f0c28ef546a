import { sql } from 'kysely'
import { addMs, type Clock, type Instant } from '../kernel/index.ts'
import type { OpenDatabase } from './open.ts'
import { silentFor } from './session.ts'
import type { Database } from './tables.ts'

/** What is read of it is as it was at one moment. `asOf` bounds it where the store itself does not; null where it does. */
export interface Snapshot {
  store: Database
  asOf: Instant | null
}

export type InSnapshot = <T>(work: (snapshot: Snapshot) => Promise<T>) => Promise<T>

/**
 * Long reading over one moment of the store (docs/decisions). PostgreSQL: one REPEATABLE READ transaction, which holds
 * up nobody. PGlite has a single connection, and a transaction would stop every request for as long as it lasts: there
 * each page is a statement of its own, and the reader keeps to what was written up to `asOf`. That is exact, because
 * statements take turns: what was stamped up to `asOf` is in the queue before the one that is awaited here.
 */
export const snapshots =
  ({ database, kind }: Pick<OpenDatabase, 'database' | 'kind'>, clock: Clock): InSnapshot =>
  async (work) => {
    if (kind === 'postgres') {
      const transaction = database.transaction().setIsolationLevel('repeatable read').setAccessMode('read only')
      return transaction.execute(async (store) => {
        // Between two pages it waits for whoever takes the first one, and locks nothing meanwhile.
        await sql.raw(silentFor(0)).execute(store)
        return work({ store, asOf: null })
      })
    }
    const asOf = addMs(clock.now(), -1)
    await sql`SELECT 1`.execute(database)
    return work({ store: database, asOf })
  }
