import { type RawBuilder, sql } from 'kysely'
import { type Instant, toDate } from '../kernel/index.ts'

/**
 * An Instant, or what a statement is given for one, as a parameter that timestamptz columns are compared with; what is read
 * is an Instant as well.
 */
export const moment = (at: Instant | RawBuilder<Date>): RawBuilder<Instant> =>
  sql<Instant>`${typeof at === 'number' ? toDate(at) : at}::timestamptz`
