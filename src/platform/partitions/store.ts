import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { type Database, sqlState, timestamptz } from '../../database/index.ts'
import type { Instant } from '../../kernel/index.ts'
import type { PartitionedTable } from './functions.ts'

const lockNotAvailable = '55P03'
const maxAttempts = 20
const pauseMs = 500

/**
 * Adds the partitions of the coming months. A table that has one partition with rows, as after an upgrade, is read once
 * without a lock. Each step that needs a lock waits up to 200 ms for it, and is tried again for about ten seconds.
 */
export async function extendPartitions(
  database: Database,
  table: PartitionedTable,
  at: Instant,
  signal?: AbortSignal,
): Promise<void> {
  for (let attempt = 1; ; ) {
    signal?.throwIfAborted()
    try {
      const { bound, isChecked } = await nextSplit(database, table, at)
      if (bound === null) return
      if (isChecked) {
        await sql`SELECT partition_check(${table}::regclass, ${bound})`.execute(database)
        await sql`SELECT partition_validate(${table}::regclass)`.execute(database)
      }
      await sql`SELECT partition_split(${table}::regclass, ${bound})`.execute(database)
    } catch (error) {
      if (attempt >= maxAttempts || sqlState(error) !== lockNotAvailable) throw error
      attempt += 1
      await pause(pauseMs, undefined, signal && { signal })
    }
  }
}

/** The bounds are as PostgreSQL prints them. Null at an open end. */
interface Partition {
  name: string
  lower: string | null
  upper: string | null
  /** A detach was interrupted. */
  isDetaching: boolean
}

/** In any order. */
export async function listPartitions(database: Database, table: PartitionedTable): Promise<Partition[]> {
  const { rows } = await sql<Partition>`
    SELECT name, lower, upper, is_detaching AS "isDetaching" FROM partition_list(${table}::regclass)`.execute(database)
  return rows
}

async function nextSplit(database: Database, table: PartitionedTable, at: Instant) {
  const { rows } = await sql<{ bound: string | null; isChecked: boolean }>`
    SELECT bound, is_checked AS "isChecked" FROM partition_next(${table}::regclass, ${timestamptz(at)})`.execute(
    database,
  )
  return rows[0] ?? { bound: null, isChecked: false }
}
