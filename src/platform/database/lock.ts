import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/**
 * An exclusive lock on a directory that dies with its process, however that ends: Node has no flock of its own,
 * and SQLite's file lock is the operating system's, held by an open transaction on an otherwise empty file.
 */
export const lockDirectory = (directory: string): { release(): void } => {
  const file = new DatabaseSync(join(directory, 'lock'))
  try {
    file.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (error) {
    file.close()
    throw new Error(`${directory} is in use by another process; one process at a time may open an embedded store`, {
      cause: error,
    })
  }
  return { release: () => file.close() }
}
