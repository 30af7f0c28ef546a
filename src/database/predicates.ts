import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { type AccountId, areWithin, canonicalEmail, type Instant, toDate, type WorkspaceId } from '../kernel/index.ts'
import { toSnakeCase } from './column-names.ts'
import type { Database, Tables, Tx } from './tables.ts'

/**
 * Every statement about data of a workspace needs this predicate: `query.where(inWorkspace(workspace.id))`. Pass
 * `table` if the statement has several tables.
 */
export function inWorkspace(id: WorkspaceId, table?: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`${sql.ref(table === undefined ? 'workspaceBizId' : `${table}.workspaceBizId`)} = ${id}::uuid`
}

/** Compares a column with an instant: `where('expiresAt', '<=', timestamptz(at))`. */
export function timestamptz(at: Instant | RawBuilder<Date>): RawBuilder<Instant> {
  return sql<Instant>`${typeof at === 'number' ? toDate(at) : at}::timestamptz`
}

/** Before or after the instant: the clock may have been set back after the row was written. */
export function differsByAtLeast(
  column: string,
  at: Instant | RawBuilder<Date>,
  milliseconds: number | RawBuilder<number>,
): RawBuilder<SqlBool> {
  return sql<SqlBool>`abs(extract(epoch FROM ${sql.ref(column)} - ${timestamptz(at)})) * 1000 >= ${milliseconds}::float8`
}

/**
 * Whether a suspicion of the recovery covers what an account did in the row's workspace. `by` is the column of the account,
 * `since` that of the time. Both functions are in src/banking/members/suspicion-schema.ts.
 */
export function isSuspect(
  { accountId, at }: { accountId: AccountId; at: Instant },
  by: string,
  since: string,
): RawBuilder<SqlBool> {
  const recovery = sql`${accountId}::uuid, ${timestamptz(at)}`
  const account = sql.ref(by)
  return sql<SqlBool>`(${account} = ANY (suspects_of(${recovery}))
    AND is_suspect(${recovery}, workspace_biz_id, ${account}, ${sql.ref(since)}))`
}

/**
 * Whether the column contains the text, in any case. PostgreSQL converts the case of both texts, because JavaScript
 * converts some letters differently, such as İ, and Σ at the end of a word.
 */
export function containsText(column: string, text: string): RawBuilder<boolean> {
  return sql<boolean>`lower(upper(${sql.ref(column)})) LIKE lower(upper(${patternOf(text)}::text))`
}

/** Whether the column contains part of an address. The column must contain canonical addresses. */
export function containsEmail(column: string, part: string): RawBuilder<boolean> {
  return sql<boolean>`${sql.ref(column)} LIKE ${patternOf(canonicalEmail(part))}::text`
}

export interface Search<Table extends keyof Tables> {
  table: Table
  column: keyof Tables[Table] & string
  /** The name of the table in the query. */
  alias?: string
  text: string
}

/**
 * The condition of `containsText`, for a table that grows. A trigram that most rows have does not narrow a search, but
 * PostgreSQL reads all its entries. So the index gets the part of the text that few rows have.
 */
export async function findText<Table extends keyof Tables>(
  store: Database | Tx,
  { text, ...search }: Search<Table>,
): Promise<RawBuilder<boolean>> {
  const part = await rarePart(store, search, text)
  if (part === text) return containsText(referenceTo(search), text)
  const value = sql`lower(upper(${sql.ref(referenceTo(search))}))`
  return sql<boolean>`(${containsText(referenceTo(search), part)} AND strpos(${value}, lower(upper(${text}::text))) <> 0)`
}

/** The same for `containsEmail`. */
export async function findEmail<Table extends keyof Tables>(
  store: Database | Tx,
  { text, ...search }: Search<Table>,
): Promise<RawBuilder<boolean>> {
  const address = canonicalEmail(text)
  const part = await rarePart(store, search, address)
  if (part === address) return containsEmail(referenceTo(search), address)
  const column = sql.ref(referenceTo(search))
  return sql<boolean>`(${column} LIKE ${patternOf(part)}::text AND strpos(${column}, ${address}::text) <> 0)`
}

/**
 * Returns statements of a migration. They create the indexes only on a server that has the extension pg_trgm and allows
 * the role to install it. Without them, `containsText` and `containsEmail` read all rows. The embedded store has none.
 */
export function trigramIndexes(table: string, indexes: Readonly<Record<string, string>>): string[] {
  return [
    `DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_trgm') THEN
      CREATE EXTENSION IF NOT EXISTS pg_trgm;
    END IF;
  EXCEPTION WHEN insufficient_privilege THEN
    RAISE NOTICE 'the role cannot install pg_trgm';
  END $$`,
    ...Object.entries(indexes).map(
      ([name, text]) => `DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm') THEN
      CREATE INDEX IF NOT EXISTS ${name} ON ${table} USING gin (${text} gin_trgm_ops);
    END IF;
  EXCEPTION WHEN undefined_object THEN
    RAISE NOTICE 'pg_trgm is not in the search path';
  END $$`,
    ),
  ]
}

/**
 * A code, token or session is valid from `from` and before `until`. It also expires if the clock is set back to more
 * than one such period before `from`, so setting it back can at most double a lifetime.
 */
export interface Validity {
  from: Instant
  until: Instant
}

/** Whether the period contains the instant. */
export function isValidAt({ from, until }: Validity, at: Instant): boolean {
  return until > at && areWithin(until - from, from, at)
}

/** `isValidAt` for timestamp columns. */
export function validAt(from: string, until: string, at: Instant | RawBuilder<Date>): RawBuilder<SqlBool> {
  const [begin, end] = [sql.ref(from), sql.ref(until)]
  return sql<SqlBool>`(${end} > ${timestamptz(at)} AND ${begin} - (${end} - ${begin}) <= ${timestamptz(at)})`
}

/** A pattern of LIKE, for which PostgreSQL can use an index of trigrams. */
function patternOf(part: string): string {
  return `%${part.replace(/[\\%_]/g, '\\$&')}%`
}

type Column<Table extends keyof Tables> = Omit<Search<Table>, 'text'>

function referenceTo<Table extends keyof Tables>({ alias, column }: Column<Table>): string {
  return alias === undefined ? column : `${alias}.${column}`
}

const trigramLength = 3
/** Of the rows with one trigram. */
const rareShare = 0.05
const minSample = 50

/** Outside ASCII, the case of a letter can depend on its neighbors, so a part would not match where the text does. */
async function rarePart<Table extends keyof Tables>(
  store: Database | Tx,
  { table, column }: Column<Table>,
  text: string,
): Promise<string> {
  if (text.length <= trigramLength || !/^[ -~]*$/.test(text)) return text
  const sample = await sampleOf(store, table, column)
  if (sample.length < minSample) return text
  const searched = text.toLowerCase()
  const isRare = (start: number): boolean => {
    const trigram = searched.slice(start, start + trigramLength)
    return sample.filter((value) => value.includes(trigram)).length <= rareShare * sample.length
  }
  const [start, end] = mostInARow(searched.length - trigramLength + 1, isRare)
  return end === start ? text : text.slice(start, end + trigramLength - 1)
}

/** The values at equal distances in the order of the column, which ANALYZE stores. Empty before the first ANALYZE. */
async function sampleOf(store: Database | Tx, table: string, column: string): Promise<string[]> {
  const { rows } = await sql<{ sample: string[] | null }>`
    SELECT histogram_bounds::text::text[] AS sample FROM pg_stats
     WHERE schemaname = current_schema() AND tablename = ${table}
       AND attname = ${toSnakeCase(column)} AND NOT inherited`.execute(store)
  return (rows[0]?.sample ?? []).map((value) => value.toLowerCase())
}

/** From `start` to before `end`. Both are equal if nothing matches. */
function mostInARow(length: number, matches: (place: number) => boolean): readonly [start: number, end: number] {
  let longest: readonly [number, number] = [0, 0]
  let start = 0
  for (let place = 0; place <= length; place++) {
    if (place < length && matches(place)) continue
    if (place - start > longest[1] - longest[0]) longest = [start, place]
    start = place + 1
  }
  return longest
}
