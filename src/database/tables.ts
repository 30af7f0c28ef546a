import type { ColumnType, Generated, Kysely, Transaction } from 'kysely'
import { type Instant, toInstant } from '../kernel/index.ts'

/** Column type of timestamptz. Kysely returns an `Instant` and accepts a `Date`. */
export type Timestamp = ColumnType<Instant, Date, Date>
export type NullableTimestamp = ColumnType<Instant | null, Date | null | undefined, Date | null>

/** Column type of minor_units. Kysely returns a BigInt and accepts a string of decimal digits. */
export type Minor = ColumnType<bigint, string, string>

/**
 * Column type of jsonb. Kysely returns the parsed value and accepts JSON text. Values are serialized before they reach
 * the driver, because PGlite and `pg` encode arrays differently.
 */
export type Json = ColumnType<unknown, string, string>

/**
 * All tables by name, as Kysely types. The owner of a table adds the table from its own `schema.ts`, which also contains
 * the SQL that creates the table:
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

/** A Kysely instance with all tables, on a connection or a connection pool. */
export type Database = Kysely<Tables>
/** An open transaction. A caller passes it to every store that must write in the same transaction. */
export type Tx = Transaction<Tables>

const toSafeInteger = (text: string): number => {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is not a safe integer`)
  return value
}

/**
 * Value parsers by type OID, for PGlite and for `pg`. int8 becomes a number, because int8 columns hold counts and
 * sequences. numeric becomes a BigInt, because numeric columns hold whole minor units. timestamptz becomes an
 * `Instant`.
 */
export const valueParsers: Record<number, (text: string) => unknown> = {
  20: toSafeInteger,
  1700: BigInt,
  1184: (text) => toInstant(Date.parse(text)),
}
