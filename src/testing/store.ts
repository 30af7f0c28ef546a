import { sql } from 'kysely'
import type { Database, Tx } from '../database/index.ts'

/** The text of each row, by table. */
export type Rows = ReadonlyMap<string, ReadonlySet<string>>

/** Tables that requests without an effect, sessions and background work change. */
const volatile = new Set([
  ...['accounts', 'sessions', 'login_history', 'known_devices', 'refresh_tokens', 'one_time_codes', 'signing_keys'],
  ...['login_sessions', 'login_failures', 'channel_keys', 'audit_chain', 'ledger_check', 'development_outbox'],
  ...['unnamed_blobs', 'portico_migrations', 'idempotency'],
])

/** Leaves out what background work changes in the rows of an effect. */
const rowText = (table: string) => {
  if (table === 'audit_log') return sql`jsonb_build_object('entry', biz_id, 'action', action)::text`
  return table === 'jobs' ? sql`jsonb_build_object('job', biz_id, 'kind', kind)::text` : sql`to_jsonb(each)::text`
}

export const listTables = async (store: Database | Tx): Promise<string[]> => {
  const { rows } = await sql<{ name: string }>`
    SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1`.execute(store)
  return rows.map(({ name }) => name)
}

const readTable = async (database: Database, table: string): Promise<Set<string>> => {
  const condition = table === 'jobs' ? sql`every_ms IS NULL` : sql`true`
  const { rows } = await sql<{ row: string }>`
    SELECT ${rowText(table)} AS row FROM ${sql.table(table)} AS each WHERE ${condition}`.execute(database)
  return new Set(rows.map(({ row }) => row))
}

/** Reads what commands write: rows, balances, orders, jobs and audit entries. */
export class EffectStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async readTables(tables: readonly string[]): Promise<Rows> {
    const rows = new Map<string, ReadonlySet<string>>()
    for (const table of tables) rows.set(table, await readTable(this.#database, table))
    return rows
  }

  async readEffects(): Promise<Rows> {
    return this.readTables((await listTables(this.#database)).filter((table) => !volatile.has(table)))
  }

  /** Returns the number of entries about the successful request. */
  async countAuditEntries(operationId: string, requestId: string): Promise<number> {
    const { rows } = await sql<{ entries: number }>`
      SELECT count(*)::int AS entries FROM audit_log
       WHERE action = ${operationId} AND request_id = ${requestId} AND outcome = 'SUCCESS'`.execute(this.#database)
    return rows[0]?.entries ?? 0
  }
}

/** Returns `table: row` for each row that is in `after` but not in `before`. */
export const addedRows = (before: Rows, after: Rows): string[] =>
  [...after].flatMap(([table, rows]) =>
    [...rows].filter((row) => !before.get(table)?.has(row)).map((row) => `${table}: ${row}`),
  )
