import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { areWithin, canonicalEmail, type Instant, toDate } from '../kernel/index.ts'

/** An `Instant`, or the placeholder of one, as a timestamptz parameter. A column of it is read as an `Instant`. */
export const timestamptz = (at: Instant | RawBuilder<Date>): RawBuilder<Instant> =>
  sql<Instant>`${typeof at === 'number' ? toDate(at) : at}::timestamptz`

/**
 * Whether a timestamp column is at least `milliseconds` before or after an instant. A later value was written before the
 * clock was set back.
 */
export const differsByAtLeast = (
  column: string,
  at: Instant | RawBuilder<Date>,
  milliseconds: number | RawBuilder<number>,
): RawBuilder<SqlBool> =>
  sql<SqlBool>`abs(extract(epoch FROM ${sql.ref(column)} - ${timestamptz(at)})) * 1000 >= ${milliseconds}::float8`

/**
 * Whether a text column contains a text, ignoring case. PostgreSQL folds both sides: folded in JavaScript, some letters
 * no longer match themselves (İ, and Σ at the end of a word).
 */
export const containsText = (column: string, text: string): RawBuilder<boolean> =>
  sql<boolean>`strpos(lower(upper(${sql.ref(column)})), lower(upper(${text}::text))) > 0`

/** Whether a column of canonical e-mail addresses contains a part of an address. */
export const containsEmail = (column: string, part: string): RawBuilder<boolean> =>
  sql<boolean>`strpos(${sql.ref(column)}, ${canonicalEmail(part)}::text) > 0`

/**
 * The time in which a code, token or session is valid: after `from`, before `until`. It ends early if the clock is set
 * back: a `from` that lies ahead of the clock by more than the whole period counts as expired, so that setting the
 * clock back at most doubles a lifetime.
 */
export interface Validity {
  from: Instant
  until: Instant
}

/** Whether something is valid at an instant, even if the clock was set back. */
export const isValidAt = ({ from, until }: Validity, at: Instant): boolean =>
  until > at && areWithin(until - from, from, at)

/** The same rule in SQL, over the two timestamp columns of a row. */
export const validAt = (from: string, until: string, at: Instant | RawBuilder<Date>): RawBuilder<SqlBool> => {
  const [begin, end] = [sql.ref(from), sql.ref(until)]
  return sql<SqlBool>`(${end} > ${timestamptz(at)} AND ${begin} - (${end} - ${begin}) <= ${timestamptz(at)})`
}
