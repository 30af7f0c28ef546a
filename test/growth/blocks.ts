import { sql } from 'kysely'
import type { Database } from '../../src/database/index.ts'

/** Of tables and indexes, cached or not. */
async function blocksSoFar(database: Database): Promise<number> {
  const { rows } = await sql<{ blocks: number }>`
    SELECT sum(pg_stat_get_xact_blocks_fetched(oid))::int AS blocks
      FROM pg_class WHERE relnamespace = 'public'::regnamespace`.execute(database)
  return rows[0]?.blocks ?? Number.NaN
}

export interface Cost<T> {
  blocks: number
  milliseconds: number
  result: T
}

/** Returns the blocks of tables and indexes that all statements of the work read. */
export async function costOf<T>(database: Database, work: (database: Database) => Promise<T>): Promise<Cost<T>> {
  // An earlier execution fills the caches of the catalog.
  await work(database)
  return database.transaction().execute(async (tx) => {
    const before = await blocksSoFar(tx)
    const begun = performance.now()
    const result = await work(tx)
    const milliseconds = performance.now() - begun
    return { blocks: (await blocksSoFar(tx)) - before, milliseconds, result }
  })
}
