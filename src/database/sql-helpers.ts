import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { canonicalEmail, type Instant, toDate } from '../kernel/index.ts'

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
