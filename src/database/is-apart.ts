import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Instant } from '../kernel/index.ts'
import { moment } from './moment.ts'

/** Whether a column is so far from an instant, on either side: what lies ahead was written before the clock was set back. */
export const isApart = (
  column: string,
  at: Instant | RawBuilder<Date>,
  milliseconds: number | RawBuilder<number>,
): RawBuilder<SqlBool> =>
  sql<SqlBool>`abs(extract(epoch FROM ${sql.ref(column)} - ${moment(at)})) * 1000 >= ${milliseconds}::float8`
