import { setImmediate as turn } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Database } from './tables/index.ts'

/** A tenth of the rows that are counted otherwise: our tables' columns are plain, and every one of them costs time and memory. */
const statisticsTarget = '10'

/**
 * What a server's autovacuum does, and nothing in PGlite: the room of rows that are gone is used again, and the planner knows
 * how many there are. Each table by itself, with a turn of the event loop between two, since all else waits meanwhile.
 */
export const vacuum = async (database: Database, signal: AbortSignal): Promise<void> => {
  await sql`SELECT set_config('default_statistics_target', ${statisticsTarget}, false)`.execute(database)
  const { rows } = await sql<{ name: string }>`
    SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
  `.execute(database)
  for (const { name } of rows) {
    signal.throwIfAborted()
    await sql`VACUUM (ANALYZE) ${sql.table(name)}`.execute(database)
    await turn()
  }
}
