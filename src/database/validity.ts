import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Instant } from '../kernel/index.ts'
import { moment } from './sql-helpers.ts'

/**
 * Whether an instant is in the time that a row is good for, from one column until another. A row that lies ahead by more than
 * all of that time was made before the clock was set back, which prolongs nothing (areWithin): it is good no more.
 */
export const isValidAt = (from: string, until: string, at: Instant | RawBuilder<Date>): RawBuilder<SqlBool> => {
  const [begin, end] = [sql.ref(from), sql.ref(until)]
  return sql<SqlBool>`(${end} > ${moment(at)} AND ${begin} - (${end} - ${begin}) <= ${moment(at)})`
}
