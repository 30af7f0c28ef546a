import { sql } from 'kysely'
import type { Clock } from '../kernel/index.ts'
import type { Database } from './tables.ts'

/** How far the store's clock is ahead of ours, or behind it, in milliseconds; 0 where it may be the way there and back. */
export const clockDifference = async (database: Database, clock: Clock): Promise<number> => {
  const asked = clock.now()
  const { rows } = await sql<{ at: number }>`SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS at`.execute(
    database,
  )
  const answered = clock.now()
  const at = Math.floor(rows[0]?.at ?? asked)
  return Math.min(0, at - asked) + Math.max(0, at - answered)
}
