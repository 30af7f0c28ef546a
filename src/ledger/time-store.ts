import { sql } from 'kysely'
import { type Instant, toDate } from '../kernel/index.ts'

/** An instant as the store compares it. */
export const storeInstant = (at: Instant) => sql<Instant>`${toDate(at)}::timestamptz`
