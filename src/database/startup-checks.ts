import { sql } from 'kysely'
import type { Clock } from '../kernel/index.ts'
import type { Database } from './tables.ts'

/** Whatever serves writes as it starts already; `portico audit verify` and its like also read a standby. */
export const assertWritable = async (database: Database): Promise<void> => {
  const { rows } = await sql<{ readOnly: boolean; standby: boolean }>`
    SELECT current_setting('transaction_read_only')::boolean AS "readOnly", pg_is_in_recovery() AS standby`.execute(
    database,
  )
  if (!rows[0]?.readOnly) return
  throw new Error(
    rows[0].standby
      ? 'the server of DATABASE_URL is a standby, which can only be read'
      : 'the database of DATABASE_URL can only be read: default_transaction_read_only is on for it, its role or its server',
  )
}

/** How far the store's clock is ahead of ours, or behind it, in milliseconds; 0 where it may be the way there and back. */
export const measureClockSkew = async (database: Database, clock: Clock): Promise<number> => {
  const asked = clock.now()
  const { rows } = await sql<{ at: number }>`SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS at`.execute(
    database,
  )
  const answered = clock.now()
  const at = Math.floor(rows[0]?.at ?? asked)
  return Math.min(0, at - asked) + Math.max(0, at - answered)
}
