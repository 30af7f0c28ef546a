import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { type AccountId, areWithin, canonicalEmail, type Instant, toDate, type WorkspaceId } from '../kernel/index.ts'

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
