import { PGlite } from '@electric-sql/pglite'
import { Kysely, sql } from 'kysely'
import { isRecord } from '../../kernel/index.ts'
import { migrate } from '../migrator/migrate.ts'
import type { OpenDatabase } from '../port.ts'
import { type Tables, valueParsers } from '../tables.ts'
import { embeddedStorePath, lockDirectory, makeDirectory } from './data-directory.ts'
import { embeddedDialect } from './dialect.ts'
import { assertFreeSpace, watchFreeSpace } from './disk-space.ts'
import { DurableNodeFS, durableStartParams, syncFolder } from './durable-files.ts'
import { markStoreOpened, recoverIncompleteStore } from './incomplete-store.ts'

/**
 * PostgreSQL settings of a new store. The values are small, because the store has one connection and PGlite's main cost
 * is memory.
 */
const settings = ['shared_buffers=16MB', 'wal_buffers=1MB', 'min_wal_size=32MB', 'max_wal_size=64MB', 'timezone=UTC']

/** Where and how to open the embedded store. */
export interface EmbeddedTarget {
  kind: 'embedded'
  directory: string
  /** Whether to flush each commit to disk before acknowledging it, as a PostgreSQL server does. */
  isDurable: boolean
  /** Minimum free disk space in bytes. The store is read-only while the disk has less free space. */
  minimumFreeBytes: number
  /**
   * Called with true when the store becomes read-only because the disk is full, and with false when it is writable
   * again.
   */
  onDiskFull(isFull: boolean): void
}

const createDataDirectory = async (directory: string): Promise<void> => {
  try {
    await makeDirectory(directory)
  } catch (error) {
    throw new Error(`the data directory ${directory} (PORTICO_DATA_DIR) cannot be created`, { cause: error })
  }
}

/**
 * Converts a plain object from PGlite's file system into an Error. PGlite throws objects with a WASI error number, such
 * as 2 for EACCES.
 */
const toError = (error: unknown): unknown =>
  isRecord(error) && !(error instanceof Error) && 'errno' in error
    ? new Error(`its files cannot be read or written (WASI errno ${error.errno})`)
    : error

const openPglite = async (folder: string, isDurable: boolean): Promise<PGlite> => {
  const options = { parsers: valueParsers, postgresqlconf: settings }
  if (!isDurable) return PGlite.create({ ...options, dataDir: folder })
  const pglite = await PGlite.create({ ...options, fs: new DurableNodeFS(folder), startParams: durableStartParams })
  // Flush all files once: PGlite does not flush a new store, and an earlier process may have run with `isDurable`
  // false.
  syncFolder(folder)
  return pglite
}

/**
 * Opens PGlite with its files on disk. Committed data survives a killed process. With `isDurable`, committed data also
 * survives a power failure. PGlite does not lock its files, so this function locks the directory. Throws if another
 * process holds that lock.
 */
export const openEmbedded = async ({
  directory,
  isDurable,
  minimumFreeBytes,
  onDiskFull,
}: Omit<EmbeddedTarget, 'kind'>): Promise<OpenDatabase> => {
  await createDataDirectory(directory)
  await assertFreeSpace(directory, minimumFreeBytes)
  const lock = lockDirectory(directory)
  try {
    recoverIncompleteStore(directory)
    const pglite = await openPglite(embeddedStorePath(directory), isDurable)
    markStoreOpened(directory)
    const fatal = Promise.withResolvers<Error>()
    let hasFailed = false
    const onPanic = (error: Error): void => {
      hasFailed = true
      fatal.resolve(error)
    }
    const database = new Kysely<Tables>({ dialect: embeddedDialect(pglite, onPanic) })
    const guard = watchFreeSpace(database, directory, minimumFreeBytes, onDiskFull)
    return {
      database,
      kind: 'embedded',
      waiting: () => 0,
      check: async () => void (await sql`SELECT 1`.execute(database)),
      withoutTimeouts: async (work, signal) => {
        signal?.throwIfAborted()
        return work(database)
      },
      migrate: (owners) => migrate(database, owners),
      fatal: fatal.promise,
      close: async () => {
        guard.stop()
        if (!hasFailed) await pglite.close()
        lock.release()
      },
    }
  } catch (error) {
    lock.release()
    throw new Error(`the embedded store in ${directory} could not be opened`, { cause: toError(error) })
  }
}
