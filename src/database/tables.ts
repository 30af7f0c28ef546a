import type { ColumnType, Generated, Kysely, Transaction } from 'kysely'
import { type Instant, toInstant } from '../kernel/index.ts'

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

/** All tables behind one connection or pool. */
export type Database = Kysely<Tables>
/** An open transaction, passed from store to store. */
export type Tx = Transaction<Tables>

const toSafeInteger = (text: string): number => {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is not a safe integer`)
  return value
}

/**
 * Parsers of both drivers by type OID: int8 as a number (counts and sequences), numeric as a BigInt (our numeric columns
 * hold whole minor units), timestamptz as an Instant.
 */
export const valueParsers: Record<number, (text: string) => unknown> = {
  20: toSafeInteger,
  1700: BigInt,
  1184: (text) => toInstant(Date.parse(text)),
}
