import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { areWithin, canonicalEmail, type Instant, toDate } from '../kernel/index.ts'

/** Returns an `Instant`, or a placeholder for one, as a timestamptz parameter. */
export const timestamptz = (at: Instant | RawBuilder<Date>): RawBuilder<Instant> =>
  sql<Instant>`${typeof at === 'number' ? toDate(at) : at}::timestamptz`

/**
 * Returns a predicate: whether a timestamp column is at least `milliseconds` before or after an instant. The column can
 * be later than the instant if the clock was set back after the row was written.
 */
export const differsByAtLeast = (
  column: string,
  at: Instant | RawBuilder<Date>,
  milliseconds: number | RawBuilder<number>,
): RawBuilder<SqlBool> =>
  sql<SqlBool>`abs(extract(epoch FROM ${sql.ref(column)} - ${timestamptz(at)})) * 1000 >= ${milliseconds}::float8`

/**
 * Returns a predicate: whether a text column contains a text, ignoring case. PostgreSQL converts the case of both the
 * column and the text. JavaScript converts some letters differently, such as İ, and Σ at the end of a word.
 */
export const containsText = (column: string, text: string): RawBuilder<boolean> =>
  sql<boolean>`strpos(lower(upper(${sql.ref(column)})), lower(upper(${text}::text))) > 0`

/** Returns a predicate: whether a column of canonical email addresses contains a part of an address. */
export const containsEmail = (column: string, part: string): RawBuilder<boolean> =>
  sql<boolean>`strpos(${sql.ref(column)}, ${canonicalEmail(part)}::text) > 0`

/**
 * The period in which a code, token or session is valid: from `from`, and before `until`. If the clock is set back to
 * more than one such period before `from`, the code, token or session counts as expired. Setting the clock back can
 * therefore at most double a lifetime.
 */
export interface Validity {
  from: Instant
  until: Instant
}

/** Whether a validity period includes an instant. Tolerates a clock that was set back, as described at `Validity`. */
export const isValidAt = ({ from, until }: Validity, at: Instant): boolean =>
  until > at && areWithin(until - from, from, at)

/** Returns the SQL predicate of `isValidAt`, for a row with the timestamp columns `from` and `until`. */
export const validAt = (from: string, until: string, at: Instant | RawBuilder<Date>): RawBuilder<SqlBool> => {
  const [begin, end] = [sql.ref(from), sql.ref(until)]
  return sql<SqlBool>`(${end} > ${timestamptz(at)} AND ${begin} - (${end} - ${begin}) <= ${timestamptz(at)})`
}
