import { type Kysely, sql } from 'kysely'

/**
 * Bytes in the blob store that no row names, or none yet: written down before they are stored, and taken out by the
 * transaction of the row that names them. What is due is doomed first, so that no row can name it while it is deleted.
 */
const statements = [
  `CREATE TABLE unnamed_blobs (
    blob_key text PRIMARY KEY,
    due_at timestamptz NOT NULL,
    is_doomed boolean NOT NULL DEFAULT false
  )`,
  `CREATE INDEX unnamed_blobs_due ON unnamed_blobs (due_at)`,
]

export const up = async (database: Kysely<unknown>): Promise<void> => {
  for (const statement of statements) await sql.raw(statement).execute(database)
}
