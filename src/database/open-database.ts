import { sql } from 'kysely'
import type { EmbeddedTarget } from './embedded/open-embedded.ts'
import type { OpenDatabase } from './port.ts'
import type { PostgresTarget } from './postgres/open-postgres.ts'
import type { Database } from './tables.ts'

export type DatabaseTarget = EmbeddedTarget | PostgresTarget

/** Imports only the driver for that database. */
export async function openDatabase(target: DatabaseTarget): Promise<OpenDatabase> {
  if (target.kind === 'embedded') return (await import('./embedded/open-embedded.ts')).openEmbedded(target)
  return (await import('./postgres/open-postgres.ts')).openPostgres(target)
}

/** Throws if the database is read-only. `portico audit verify` does not call this, because it can run on a standby. */
export async function assertWritable(database: Database): Promise<void> {
  const { rows } = await sql<{ readOnly: boolean; standby: boolean }>`
    SELECT current_setting('transaction_read_only')::boolean AS "readOnly", pg_is_in_recovery() AS standby`.execute(
    database,
  )
  if (!rows[0]?.readOnly) return
  throw new Error(
    rows[0].standby
      ? 'the server of DATABASE_URL is a read-only standby'
      : 'the database of DATABASE_URL is read-only: default_transaction_read_only is on for it, its role or its server',
  )
}
