import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Database } from '../tables.ts'

/**
 * Vacuums all tables of the embedded store, because PGlite has no autovacuum. Yields to the event loop after each table:
 * PGlite runs in this thread. ANALYZE is left out: it would cost 20 MB of memory, and our statements use keys.
 */
export const vacuum = async (database: Database, signal: AbortSignal): Promise<void> => {
  const { rows } = await sql<{ name: string }>`
    SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
  `.execute(database)
  for (const { name } of rows) {
    signal.throwIfAborted()
    await sql`VACUUM ${sql.table(name)}`.execute(database)
    await nextTurn()
  }
}
