import { existsSync } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** Returns the folder of PGlite's files in a data directory. */
export const embeddedStorePath = (directory: string): string => join(directory, 'pg')

/** Whether a data directory contains an embedded store. */
export const hasEmbeddedStore = (directory: string): boolean => existsSync(embeddedStorePath(directory))

const isDirectory = async (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )

/**
 * Creates a directory that only this user can access, and its missing parents. Node's `recursive` option never returns
 * if an existing parent reports ENOENT, as /proc does.
 */
export const makeDirectory = async (path: string): Promise<void> => {
  if (await isDirectory(path)) return
  if (dirname(path) !== path) await makeDirectory(dirname(path))
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    // Another process may have created it in the meantime.
    if (!(await isDirectory(path))) throw error
  }
}

const unwritable = (directory: string, cause: unknown): Error =>
  new Error(`the data directory ${directory} (PORTICO_DATA_DIR) cannot be written`, { cause })

const lockFile = (directory: string): DatabaseSync => {
  try {
    return new DatabaseSync(join(directory, 'lock'))
  } catch (error) {
    throw unwritable(directory, error)
  }
}

/** Throws if the lock file is read-only. SQLite opens such a file and shares its lock, so try to write. */
const assertWritableLock = (directory: string, file: DatabaseSync): void => {
  try {
    file.exec('PRAGMA user_version = 1')
  } catch (error) {
    file.close()
    throw unwritable(directory, error)
  }
}

/**
 * Takes an exclusive lock on a directory. The operating system releases it when the process ends. Node has no flock, so
 * the lock is SQLite's file lock, held by an open transaction on an empty file. Throws if another process holds it.
 */
export const lockDirectory = (directory: string): { release(): void } => {
  const file = lockFile(directory)
  try {
    file.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (error) {
    file.close()
    throw new Error(`${directory} is in use by another process; one process at a time may open an embedded store`, {
      cause: error,
    })
  }
  assertWritableLock(directory, file)
  return { release: () => file.close() }
}
