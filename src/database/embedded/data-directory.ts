import { existsSync } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

export function embeddedStorePath(directory: string): string {
  return join(directory, 'pg')
}

export function hasEmbeddedStore(directory: string): boolean {
  return existsSync(embeddedStorePath(directory))
}

/**
 * Creates a directory that only the current user can access. Does not use Node's `recursive` option, which loops
 * forever if an existing parent directory reports ENOENT, as /proc does.
 */
export async function makeDirectory(path: string): Promise<void> {
  if (await isDirectory(path)) return
  if (dirname(path) !== path) await makeDirectory(dirname(path))
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    // Another process may have created it in the meantime.
    if (!(await isDirectory(path))) throw error
  }
}

/**
 * Throws if another process holds the lock. The operating system releases it when the process ends. The lock is an
 * SQLite transaction on an empty file, because Node.js has no flock.
 */
export function lockDirectory(directory: string): { release(): void } {
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

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
}

function lockFile(directory: string): DatabaseSync {
  try {
    return new DatabaseSync(join(directory, 'lock'))
  } catch (error) {
    throw unwritable(directory, error)
  }
}

function unwritable(directory: string, cause: unknown): Error {
  return new Error(`the data directory ${directory} (PORTICO_DATA_DIR) cannot be written`, { cause })
}

/** SQLite opens a read-only file without an exclusive lock, so this function tests a write. */
function assertWritableLock(directory: string, file: DatabaseSync): void {
  try {
    file.exec('PRAGMA user_version = 1')
  } catch (error) {
    file.close()
    throw unwritable(directory, error)
  }
}
