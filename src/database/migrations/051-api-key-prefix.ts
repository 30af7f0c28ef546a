import { type Kysely, sql } from 'kysely'

/** Keys are looked for by how their public part begins: a range of the bytes, whatever the database's collation. */
export const up = async (database: Kysely<unknown>): Promise<void> => {
  await sql`CREATE INDEX api_keys_prefix ON api_keys (workspace_biz_id, key_prefix COLLATE "C")`.execute(database)
}
