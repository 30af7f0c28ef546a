import { existsSync } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** Returns the path of PGlite's folder in a data directory. */
export const embeddedStorePath = (directory: string): string => join(directory, 'pg')

/** Whether a data directory contains an embedded store. */
export const hasEmbeddedStore = (directory: string): boolean => existsSync(embeddedStorePath(directory))

const isDirectory = async (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )

/**
 * Creates a directory with access for the current user only. Creates missing parent directories, too. Node's
 * `recursive` option is not used, because it loops forever if an existing parent directory reports ENOENT, as /proc
 * does.
 */
export const makeDirectory = async (path: string): Promise<void> => {
  if (await isDirectory(path)) return
  if (dirname(path) !== path) await makeDirectory(dirname(path))
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    // Another process may have created the directory in the meantime.
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

/**
 * Throws if the lock file is read-only. SQLite opens a read-only file without an exclusive lock, so this function tries
 * to write to the file.
 */
const assertWritableLock = (directory: string, file: DatabaseSync): void => {
  try {
    file.exec('PRAGMA user_version = 1')
  } catch (error) {
    file.close()
    throw unwritable(directory, error)
  }
}

/**
 * Acquires an exclusive lock on a directory. Throws if another process holds the lock. The operating system releases
 * the lock when the process ends. Node.js has no flock, so an SQLite transaction on an empty file provides the lock.
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
