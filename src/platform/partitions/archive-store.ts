import { setTimeout as pause } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import { type Database, sqlState, type Tx } from '../../database/index.ts'
import { type Instant, parseInstant, toDate } from '../../kernel/index.ts'
import type { PartitionedTable } from './functions.ts'
import { listPartitions } from './store.ts'

/** Events have their own retention. */
export type ArchivedTable = Exclude<PartitionedTable, 'events'>

/** The columns of the unique key of each partition, by which it is read. */
const keys: Readonly<Record<ArchivedTable, readonly string[]>> = {
  ledger_entries: ['account_biz_id', 'sequence'],
  login_history: ['biz_id'],
  audit_log: ['sequence'],
}

const pageSize = 5_000
const lockNotAvailable = '55P03'
const maxAttempts = 100
const pauseMs = 300

export interface ClosedPartition {
  name: string
  /** Its rows are older. */
  upper: Instant
}

/** The oldest partition. Undefined if its end is not before the instant. */
export async function oldestClosed(
  database: Database,
  table: ArchivedTable,
  before: Instant,
): Promise<ClosedPartition | undefined> {
  const partitions = await listPartitions(database, table)
  const oldest = partitions.toSorted((a, b) => (a.lower ?? '').localeCompare(b.lower ?? '')).at(0)
  const upper = parseInstant(oldest?.upper?.replace(' ', 'T').replace(/\+00$/, 'Z'))
  return oldest && upper !== undefined && upper <= before ? { name: oldest.name, upper } : undefined
}

/** Afterwards, the partition never changes, except that entries of the audit log can be sealed. Reads continue. */
export async function closePartition(database: Database, table: ArchivedTable, name: string): Promise<void> {
  const events = sql.raw(table === 'audit_log' ? 'INSERT OR DELETE' : 'INSERT OR UPDATE OR DELETE')
  await withShortLocks(database, (tx) =>
    sql`CREATE OR REPLACE TRIGGER partition_archived BEFORE ${events} ON ${sql.table(name)}
      FOR EACH ROW EXECUTE FUNCTION partition_refuse()`.execute(tx),
  )
}

/** The rows as JSON, in the order of their key. Call `closePartition` first. */
export async function* readRows(database: Database, table: ArchivedTable, name: string): AsyncGenerator<string[]> {
  const columns = sql.join(keys[table].map((key) => sql.ref(key)))
  let after: string | null = null
  for (;;) {
    const behind: RawBuilder<unknown> = after === null ? sql`true` : sql`(${columns}) > ${sql.raw(after)}`
    const page = sql<{ row: string; key: string }>`
      SELECT to_jsonb(t)::text AS row, ${keyText(table)} AS key FROM ${sql.table(name)} AS t
       WHERE ${behind} ORDER BY ${columns} LIMIT ${pageSize}`
    const { rows }: { rows: { row: string; key: string }[] } = await page.execute(database)
    if (rows.length > 0) yield rows.map(({ row }) => row)
    if (rows.length < pageSize) return
    after = rows.at(-1)?.key ?? null
  }
}

export async function countRows(database: Database, name: string): Promise<number> {
  const { rows } = await sql<{ rows: number }>`SELECT count(*) AS rows FROM ${sql.table(name)}`.execute(database)
  return rows[0]?.rows ?? 0
}

export interface ArchivedPartition extends ClosedPartition {
  rows: number
  file: string
  sha256: string
}

export async function insertArchived(
  tx: Tx,
  table: ArchivedTable,
  { name, upper, rows, file, sha256 }: ArchivedPartition,
  at: Instant,
): Promise<void> {
  const row = {
    tableName: table,
    partitionName: name,
    upperBound: toDate(upper),
    rowCount: rows,
    fileName: file,
    sha256,
  }
  await tx
    .insertInto('archived_partitions')
    .values({ ...row, archivedAt: toDate(at), droppedAt: null })
    .execute()
}

/** Archived partitions whose drop was interrupted. */
export async function undropped(database: Database, table: ArchivedTable): Promise<string[]> {
  const found = database.selectFrom('archived_partitions').select('partitionName').where('droppedAt', 'is', null)
  return (await found.where('tableName', '=', table).execute()).map(({ partitionName }) => partitionName)
}

/**
 * Detaches an archived partition without a lock that stops requests, and drops it. Continues after an interruption. The
 * database must have no transaction and no timeouts. Refuses a partition without a record of its archive.
 */
export async function dropPartition(
  database: Database,
  table: ArchivedTable,
  name: string,
  at: Instant,
): Promise<void> {
  if (!(await undropped(database, table)).includes(name)) throw new Error(`${name} has no archive: it stays`)
  await detachPartition(database, table, name)
  await withShortLocks(database, (tx) => sql`DROP TABLE IF EXISTS ${sql.table(name)}`.execute(tx))
  await database
    .updateTable('archived_partitions')
    .set({ droppedAt: toDate(at) })
    .where('tableName', '=', table)
    .where('partitionName', '=', name)
    .execute()
}

/** Waits for transactions that use the table. */
export async function detachPartition(database: Database, table: PartitionedTable, name: string): Promise<void> {
  const attached = (await listPartitions(database, table)).find((partition) => partition.name === name)
  if (!attached) return
  const how = attached.isDetaching ? sql`FINALIZE` : sql`CONCURRENTLY`
  await sql`ALTER TABLE ${sql.table(table)} DETACH PARTITION ${sql.table(name)} ${how}`.execute(database)
}

/** Requests that need the table as well wait up to 200 ms, then the statement is tried again. */
export async function withShortLocks(database: Database, work: (tx: Tx) => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await database.transaction().execute(async (tx) => {
        await sql`SET LOCAL lock_timeout = '200ms'`.execute(tx)
        await work(tx)
      })
      return
    } catch (error) {
      if (attempt >= maxAttempts || sqlState(error) !== lockNotAvailable) throw error
      await pause(pauseMs)
    }
  }
}

/** A row value in SQL text. */
function keyText(table: ArchivedTable) {
  return sql`format(${`(${keys[table].map(() => '%L').join(', ')})`}::text, ${sql.join(keys[table].map((key) => sql.ref(key)))})`
}
