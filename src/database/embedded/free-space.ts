import { statfs } from 'node:fs/promises'
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../tables.ts'

const intervalMs = 250
const megabytes = (bytes: number): string => `${Math.floor(bytes / 1_048_576)} MB`

const freeBytes = async (directory: string): Promise<number> => {
  const { bavail, bsize } = await statfs(directory)
  return bavail * bsize
}

/** Throws if less than `minimum` bytes are free. */
export const assertFreeSpace = async (directory: string, minimum: number): Promise<void> => {
  const free = await freeBytes(directory)
  if (free < minimum)
    throw new Error(
      `the disk of ${directory} has ${megabytes(free)} free; the embedded store needs ${megabytes(minimum)} (database.minimumFreeBytes)`,
    )
}

/**
 * Makes the store read-only while less than `minimum` bytes are free: writes fail as unavailable, reads work. PGlite
 * survives a full disk when it writes tables, but not when it writes its log.
 */
export const watchFreeSpace = (
  database: Kysely<Tables>,
  directory: string,
  minimum: number,
  onChange: (isFull: boolean) => void,
): { stop(): void } => {
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
