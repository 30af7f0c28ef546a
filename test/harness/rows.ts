import { sql } from 'kysely'
import type { Database } from '../../src/database/index.ts'

/** As text, prefixed with the table name. */
export async function rowsOf(database: Database): Promise<ReadonlySet<string>> {
  const tables = await sql<{ name: string }>`SELECT table_name AS name FROM information_schema.tables
    WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'
      AND NOT (SELECT relispartition FROM pg_class WHERE oid = table_name::regclass)`.execute(database)
  const each = tables.rows.map(
    ({ name }) => sql`SELECT ${name}::text || ' ' || to_jsonb(t)::text AS reported FROM ${sql.table(name)} AS t`,
  )
  const { rows } = await sql<{ reported: string }>`${sql.join(each, sql` UNION ALL `)}`.execute(database)
  return new Set(rows.map(({ reported }) => reported))
}

/** Searches for text and hex. The database should store only digests or ciphertext. */
export async function storedInPlainText(database: Database, ...secrets: string[]): Promise<string[]> {
  const rows = [...(await rowsOf(database))]
  const formsOf = (secret: string) => [secret, Buffer.from(secret).toString('hex')]
  return secrets.filter((secret) => rows.some((row) => formsOf(secret).some((form) => row.includes(form))))
}
