import { setImmediate as turn } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Database } from '../tables.ts'

/**
 * What a server's autovacuum does, and nothing in PGlite: the room of rows that are gone is used again, and the planner knows
 * how many there are. Each table by itself, with a turn of the event loop between two, since all else waits meanwhile. More
 * statistics (ANALYZE) would take 20 MB for good, and our statements find their rows by keys.
 */
export const vacuum = async (database: Database, signal: AbortSignal): Promise<void> => {
  const { rows } = await sql<{ name: string }>`
    SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
  `.execute(database)
  for (const { name } of rows) {
    signal.throwIfAborted()
    await sql`VACUUM ${sql.table(name)}`.execute(database)
    await turn()
  }
}
