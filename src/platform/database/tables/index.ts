import type { Kysely } from 'kysely'
import type { AccessTables } from './access.ts'

/** Every table, by the part of the house that owns it. */
export type Tables = AccessTables
export type Database = Kysely<Tables>
