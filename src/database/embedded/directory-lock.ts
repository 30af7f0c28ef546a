import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

const unwritable = (directory: string, cause: unknown): Error =>
  new Error(`the data directory ${directory} (PORTICO_DATA_DIR) cannot be written`, { cause })

const lockFile = (directory: string): DatabaseSync => {
  try {
    return new DatabaseSync(join(directory, 'lock'))
  } catch (error) {
    throw unwritable(directory, error)
  }
}

/** A file that may only be read SQLite opens all the same, and shares what it is told to lock: only writing tells. */
const assertWritableLock = (directory: string, file: DatabaseSync): void => {
  try {
    file.exec('PRAGMA user_version = 1')
  } catch (error) {
    file.close()
    throw unwritable(directory, error)
  }
}

/**
 * An exclusive lock on a directory that dies with its process, however that ends: Node has no flock of its own,
 * and SQLite's file lock is the operating system's, held by an open transaction on an otherwise empty file.
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
