import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { areWithin, canonicalEmail, type Instant, toDate } from '../kernel/index.ts'

/** Returns an `Instant`, or its placeholder, as a timestamptz parameter. */
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
 * The period in which a code, token or session is valid: after `from`, before `until`. If the clock is set back by more
 * than the whole period, it counts as expired. So setting the clock back at most doubles a lifetime.
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
