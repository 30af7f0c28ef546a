import { type RawBuilder, sql } from 'kysely'
import { type Instant, toDate } from '../../kernel/index.ts'

/** An Instant as a parameter that timestamptz columns are compared with; what is read is an Instant as well. */
export const moment = (at: Instant): RawBuilder<Instant> => sql<Instant>`${toDate(at)}::timestamptz`
