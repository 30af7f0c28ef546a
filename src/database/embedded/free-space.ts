import { statfs } from 'node:fs/promises'
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../tables.ts'

const intervalMs = 250
const megabytes = (bytes: number): string => `${Math.floor(bytes / 1_048_576)} MB`

const freeBytes = async (directory: string): Promise<number> => {
  const { bavail, bsize } = await statfs(directory)
  return bavail * bsize
}

/** Throws where a store that opens now could fill its disk. */
export const assertFreeSpace = async (directory: string, minimum: number): Promise<void> => {
  const free = await freeBytes(directory)
  if (free < minimum)
    throw new Error(
      `the disk of ${directory} has ${megabytes(free)} free; the embedded store needs ${megabytes(minimum)} (database.minimumFreeBytes)`,
    )
}

/**
 * While less than `minimum` is free the store is read only: what would write fails as not available, what reads works.
 * A disk that is full to its last byte is an error that PGlite survives for its tables, and not for its log.
 */
export const watchFreeSpace = (
  database: Kysely<Tables>,
  directory: string,
  minimum: number,
  onChange: (isFull: boolean) => void,
): { stop(): void } => {
  let isFull = false
  let looking = false
  const look = async (): Promise<void> => {
    const full = (await freeBytes(directory)) < minimum
    if (full === isFull) return
    await sql`SET default_transaction_read_only = ${sql.raw(full ? 'on' : 'off')}`.execute(database)
    isFull = full
    onChange(full)
  }
  const timer = setInterval(() => {
    if (looking) return
    looking = true
    look()
      .catch(() => undefined)
      .finally(() => {
        looking = false
      })
  }, intervalMs).unref()
  return { stop: () => clearInterval(timer) }
}
