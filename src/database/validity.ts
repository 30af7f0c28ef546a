import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { areWithin, type Instant } from '../kernel/index.ts'
import { timestamptz } from './sql-helpers.ts'

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
