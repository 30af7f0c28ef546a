import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../../database/index.ts'
import { type Instant, toDate } from '../../kernel/index.ts'
import { keyIdPosition } from '../crypto/index.ts'
import { bytesOf, type DigestColumn, type KeyedRow, type SealedColumn } from './columns.ts'

export type CountByKey = ReadonlyMap<string, number>

export async function hasTable(database: Database, { table }: Pick<SealedColumn, 'table'>): Promise<boolean> {
  const { rows } = await sql<{ exists: boolean }>`SELECT to_regclass(${table}) IS NOT NULL AS exists`.execute(database)
  return rows[0]?.exists ?? false
}

export function countSealed(database: Database, column: SealedColumn): Promise<CountByKey> {
  return countByKey(database, column, keyIdPosition.sealed, sql`true`)
}

/** Ignores rows that have ended. */
export function countDigests(database: Database, column: DigestColumn, now: Instant): Promise<CountByKey> {
  const { expiresAt, endedAt, ended } = column
  const isUnexpired = expiresAt
    ? sql`(${sql.ref(expiresAt)} IS NULL OR ${sql.ref(expiresAt)} > ${toDate(now)}::timestamptz)`
    : sql`true`
  const isOpen = endedAt ? sql`${sql.ref(endedAt)} IS NULL` : sql`true`
  const isNotEnded = ended ? sql`${sql.ref(ended.column)} <> ${ended.status}` : sql`true`
  return countByKey(database, column, keyIdPosition.digest, sql`${isUnexpired} AND ${isOpen} AND ${isNotEnded}`)
}

export async function rowsToReseal(
  database: Database,
  { table, column, key, reads = [] }: SealedColumn,
  currentKeyId: string,
  after: KeyedRow | undefined,
  limit: number,
): Promise<KeyedRow[]> {
  const primaryKey = sql.join(key.map((name) => sql.ref(name)))
  const isNext = after ? sql`(${primaryKey}) > (${sql.join(key.map((name) => sql`${after[name]}`))})` : sql`true`
  const others = reads.filter((name) => !key.includes(name))
  const { rows } = await sql<KeyedRow>`
    SELECT ${sql.join([...key, column].map((name) => sql.ref(name)))}
      ${others.length === 0 ? sql`` : sql`, ${sql.join(others.map(textRef))}`}
    FROM ${sql.table(table)}
    WHERE ${sql.ref(column)} IS NOT NULL AND ${keyIdOf(column, keyIdPosition.sealed)} <> ${currentKeyId} AND ${isNext}
    ORDER BY ${primaryKey} LIMIT ${limit}`.execute(database)
  return rows
}

/** Returns false if the value was changed or deleted concurrently. */
export async function replaceSealed(
  database: Database,
  { table, column, key }: SealedColumn,
  row: KeyedRow,
  sealed: Uint8Array,
): Promise<boolean> {
  const isRow = sql.join(
    key.map((name) => sql`${sql.ref(name)} = ${row[name]}`),
    sql` AND `,
  )
  const { numAffectedRows } = await sql`
    UPDATE ${sql.table(table)} SET ${sql.ref(column)} = ${sealed}
    WHERE ${isRow} AND ${sql.ref(column)} = ${bytesOf(row, column)}`.execute(database)
  return numAffectedRows === 1n
}

async function countByKey(
  database: Database,
  { table, column }: { table: string; column: string },
  from: number,
  condition: RawBuilder<unknown>,
): Promise<CountByKey> {
  const { rows } = await sql<{ keyId: string; values: number }>`
    SELECT ${keyIdOf(column, from)} AS "keyId", count(*)::integer AS values FROM ${sql.table(table)}
    WHERE ${sql.ref(column)} IS NOT NULL AND ${condition} GROUP BY 1`.execute(database)
  return new Map(rows.map(({ keyId, values }) => [keyId, values]))
}

function keyIdOf(column: string, from: number): RawBuilder<string> {
  return sql`encode(substring(${sql.ref(column)} FROM ${sql.lit(from)} FOR ${sql.lit(keyIdPosition.length)}), 'hex')`
}

function textRef(column: string): RawBuilder<unknown> {
  return sql`${sql.ref(column)}::text AS ${sql.ref(column)}`
}
