import { statfs } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { Database, Tables } from '../tables.ts'

const intervalMs = 250

/** Counts only the space that unprivileged processes can use. */
export async function freeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory)
  return bavail * bsize
}

export async function assertFreeSpace(directory: string, minimum: number): Promise<void> {
  const free = await freeBytes(directory)
  if (free < minimum)
    throw new Error(
      `the disk of ${directory} has ${megabytes(free)} free; the embedded store needs ${megabytes(minimum)} (database.minimumFreeBytes)`,
    )
}

/**
 * Makes the store read-only while less than `minimum` bytes are free, so that writes fail with 503. PGlite survives a
 * full disk when it writes table files, but panics when it cannot write its WAL.
 */
export function watchFreeSpace(
  database: Kysely<Tables>,
  directory: string,
  minimum: number,
  onChange: (isFull: boolean) => void,
): { stop(): void } {
  let isFull = false
  let isChecking = false
  const check = async (): Promise<void> => {
    const full = (await freeBytes(directory)) < minimum
    if (full === isFull) return
    await sql`SET default_transaction_read_only = ${sql.raw(full ? 'on' : 'off')}`.execute(database)
    isFull = full
    onChange(full)
  }
  const timer = setInterval(() => {
    if (isChecking) return
    isChecking = true
    check()
      .catch(() => undefined)
      .finally(() => {
        isChecking = false
      })
  }, intervalMs).unref()
  return { stop: () => clearInterval(timer) }
}

/**
 * PGlite has no autovacuum. It runs in this thread, so this function yields after each table. ANALYZE would use 20 MB
 * of memory, and lookups by key need no statistics.
 */
export async function vacuum(database: Database, signal: AbortSignal): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
  `.execute(database)
  for (const { name } of rows) {
    signal.throwIfAborted()
    await sql`VACUUM ${sql.table(name)}`.execute(database)
    await nextTurn()
  }
}

function megabytes(bytes: number): string {
  return `${Math.floor(bytes / 1_048_576)} MB`
}
