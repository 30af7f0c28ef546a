import type { ColumnType, Generated, Kysely, Transaction } from 'kysely'
import type { Instant } from '../kernel/index.ts'

/** timestamptz: an Instant when read, a Date when written. */
export type Timestamp = ColumnType<Instant, Date, Date>
export type NullableTimestamp = ColumnType<Instant | null, Date | null | undefined, Date | null>

/** minor_units: a BigInt when read, decimal digits when written. */
export type Minor = ColumnType<bigint, string, string>

/** jsonb: parsed when read, text when written. The two drivers disagree on how to send an array. */
export type Json = ColumnType<unknown, string, string>

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
