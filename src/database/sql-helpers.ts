import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { canonicalEmail, type Instant, toDate } from '../kernel/index.ts'

/**
 * An Instant, or what a statement is given for one, as a parameter that timestamptz columns are compared with; what is read
 * is an Instant as well.
 */
export const moment = (at: Instant | RawBuilder<Date>): RawBuilder<Instant> =>
  sql<Instant>`${typeof at === 'number' ? toDate(at) : at}::timestamptz`

/** Whether a column is so far from an instant, on either side: what lies ahead was written before the clock was set back. */
export const differsByAtLeast = (
  column: string,
  at: Instant | RawBuilder<Date>,
  milliseconds: number | RawBuilder<number>,
): RawBuilder<SqlBool> =>
  sql<SqlBool>`abs(extract(epoch FROM ${sql.ref(column)} - ${moment(at)})) * 1000 >= ${milliseconds}::float8`

/**
 * Whether a column holds a text, in any case. The store folds both: where JavaScript folds one of them, some letters no
 * longer match themselves (İ, Σ at the end of a word).
 */
export const containsText = (column: string, text: string): RawBuilder<boolean> =>
  sql<boolean>`strpos(lower(upper(${sql.ref(column)})), lower(upper(${text}::text))) > 0`

/** The same of a column that holds addresses in the form in which they are compared. */
export const containsEmail = (column: string, part: string): RawBuilder<boolean> =>
  sql<boolean>`strpos(${sql.ref(column)}, ${canonicalEmail(part)}::text) > 0`
