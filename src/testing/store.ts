import { sql } from 'kysely'
import type { Database, Tx } from '../database/index.ts'

/** The text of each row, by table. A table without a key can have equal rows. */
export type Rows = ReadonlyMap<string, readonly string[]>

/** Tables that requests without an effect, sessions and background work change. */
const volatile = new Set([
  ...['accounts', 'sessions', 'login_history', 'known_devices', 'refresh_tokens', 'one_time_codes', 'signing_keys'],
  ...['login_sessions', 'login_failures', 'channel_keys', 'audit_chain', 'ledger_check', 'development_outbox'],
  ...['unnamed_blobs', 'portico_migrations', 'idempotency'],
])

export async function listTables(store: Database | Tx): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    SELECT relname AS name FROM pg_class
     WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY 1`.execute(
    store,
  )
  return rows.map(({ name }) => name)
}

/** The gateway records a refusal after its reply. A refusal is not an effect. */
const conditions = new Map([
  ['audit_log', sql`outcome <> 'REFUSED'`],
  ['jobs', sql`every_ms IS NULL`],
])

/** Reads what commands write: rows, balances, orders, jobs and audit entries. */
export class EffectStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async readTables(tables: readonly string[]): Promise<Rows> {
    const rows = new Map<string, readonly string[]>()
    for (const table of tables) rows.set(table, await readTable(this.#database, table))
    return rows
  }

  async readEffects(): Promise<Rows> {
    return this.readTables((await listTables(this.#database)).filter((table) => !volatile.has(table)))
  }

  /** Returns the workspaces in the entries about the successful request. */
  async auditedWorkspaces(operationId: string, requestId: string): Promise<(string | null)[]> {
    const { rows } = await sql<{ workspace: string | null }>`
      SELECT workspace_biz_id AS workspace FROM audit_log
       WHERE action = ${operationId} AND request_id = ${requestId} AND outcome = 'SUCCESS'`.execute(this.#database)
    return rows.map(({ workspace }) => workspace)
  }
}

/** Returns the members of `list` without those of `removed`, of which each removes one equal member. */
export function withoutEach(list: readonly string[], removed: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const each of removed) counts.set(each, (counts.get(each) ?? 0) + 1)
  return list.filter((each) => {
    const count = counts.get(each) ?? 0
    if (count > 0) counts.set(each, count - 1)
    return count === 0
  })
}

/** Returns `table: row` for each row that is in `after` but not in `before`. */
export function addedRows(before: Rows, after: Rows): string[] {
  return [...after].flatMap(([table, rows]) =>
    withoutEach(rows, before.get(table) ?? []).map((row) => `${table}: ${row}`),
  )
}

async function readTable(database: Database, table: string): Promise<string[]> {
  const condition = conditions.get(table) ?? sql`true`
  const { rows } = await sql<{ row: string }>`
    SELECT ${rowText(table)} AS row FROM ${sql.table(table)} AS each WHERE ${condition}`.execute(database)
  return rows.map(({ row }) => row)
}

/** Leaves out what background work changes in the rows of an effect. */
function rowText(table: string) {
  if (table === 'audit_log') return sql`jsonb_build_object('entry', biz_id, 'action', action)::text`
  return table === 'jobs' ? sql`jsonb_build_object('job', biz_id, 'kind', kind)::text` : sql`to_jsonb(each)::text`
}
