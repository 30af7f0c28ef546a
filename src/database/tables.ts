import type { Generated, Kysely, Transaction } from 'kysely'
import type { Timestamp } from './columns.ts'

/**
 * All tables by name, as Kysely types. The owner of a table adds it in its `schema.ts`, next to the SQL that creates it:
 *
 *     declare module '../../database/tables.ts' {
 *       interface Tables {
 *         loans: LoansTable
 *       }
 *     }
 */
export interface Tables {
  portico_migrations: MigrationsTable
}

interface MigrationsTable {
  owner: string
  name: string
  applied_at: Generated<Timestamp>
}

export type Database = Kysely<Tables>
/** An open transaction, passed from store to store. */
export type Tx = Transaction<Tables>
