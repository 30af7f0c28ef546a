import type { ColumnType } from 'kysely'
import type { Instant } from '../kernel/index.ts'

/** timestamptz: an Instant when read, a Date when written. */
export type Timestamp = ColumnType<Instant, Date, Date>
export type NullableTimestamp = ColumnType<Instant | null, Date | null | undefined, Date | null>

/** minor_units: a BigInt when read, decimal digits when written. */
export type Minor = ColumnType<bigint, string, string>

/** jsonb: parsed when read, text when written. The two drivers disagree on how to send an array. */
export type Json = ColumnType<unknown, string, string>
