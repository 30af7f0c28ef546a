import type { ColumnType, Generated, Kysely, Transaction } from 'kysely'
import { type Instant, toInstant } from '../kernel/index.ts'

/** Column type of timestamptz. Kysely returns an `Instant` and accepts a `Date`. */
export type Timestamp = ColumnType<Instant, Date, Date>
export type NullableTimestamp = ColumnType<Instant | null, Date | null | undefined, Date | null>

/** Column type of minor_units: reads a BigInt, writes a string of decimal digits. */
export type Minor = ColumnType<bigint, string, string>

/**
 * Column type of jsonb: reads the parsed value, writes JSON text, because PGlite and `pg` encode arrays differently.
 */
export type Json = ColumnType<unknown, string, string>

declare global {
  /** The tables of domains outside this package, by name: `declare global { interface PorticoTables { ... } }`. */
  interface PorticoTables {}
}

/**
 * All tables by name, with columns in camel case: `createdAt` is the column created_at. An owner adds its tables in its own `schema.ts`, next to the SQL that creates them:
 *
 *     declare module '../../database/tables.ts' {
 *       interface Tables {
 *         loans: LoansTable
 *       }
 *     }
 */
export interface Tables extends PorticoTables {
  portico_migrations: MigrationsTable
}

interface MigrationsTable {
  owner: string
  name: string
  appliedAt: Generated<Timestamp>
  checksum: string | null
  version: string | null
  compatibleWith: string | null
}

/** A Kysely instance with all tables. */
export type Database = Kysely<Tables>
/** An open transaction. Pass it to every store that must write in it. */
export type Tx = Transaction<Tables>

/** By type OID, for PGlite and `pg`. int8 columns hold counts and sequences. numeric columns hold whole minor units. */
export const valueParsers: Record<number, (text: string) => unknown> = {
  20: toSafeInteger,
  1700: BigInt,
  1184: (text) => toInstant(Date.parse(text)),
}

function toSafeInteger(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is not a safe integer`)
  return value
}
