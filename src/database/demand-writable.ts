import { sql } from 'kysely'
import type { Database } from './tables.ts'

/** Whatever serves writes as it starts already; `portico audit verify` and its like also read a standby. */
export const demandWritable = async (database: Database): Promise<void> => {
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
