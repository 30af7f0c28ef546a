import { PGlite } from '@electric-sql/pglite'
import { Kysely, sql } from 'kysely'
import { isRecord } from '../../kernel/index.ts'
import { migrate } from '../migrator/migrate.ts'
import type { OpenDatabase } from '../port.ts'
import { type Tables, valueParsers } from '../tables.ts'
import { embeddedStorePath, lockDirectory, makeDirectory } from './data-directory.ts'
import { EmbeddedStore } from './dialect.ts'
import { assertFreeSpace, watchFreeSpace } from './disk-space.ts'
import { DurableNodeFS, durableStartParams, syncFolder } from './durable-files.ts'
import { markStoreOpened, recoverIncompleteStore } from './incomplete-store.ts'

/** The values are small: the store has one connection, and PGlite's main cost is memory. */
const settings = ['shared_buffers=16MB', 'wal_buffers=1MB', 'min_wal_size=32MB', 'max_wal_size=64MB', 'timezone=UTC']

export interface EmbeddedTarget {
  kind: 'embedded'
  directory: string
  isDurable: boolean
  /** In bytes. Below it, the store is read-only. */
  minimumFreeBytes: number
  onDiskFull(isFull: boolean): void
}

const createDataDirectory = async (directory: string): Promise<void> => {
  try {
    await makeDirectory(directory)
  } catch (error) {
    throw new Error(`the data directory ${directory} (PORTICO_DATA_DIR) cannot be created`, { cause: error })
  }
}

/** PGlite's file system throws plain objects with a WASI error number, such as 2 for EACCES. */
const toError = (error: unknown): unknown =>
  isRecord(error) && !(error instanceof Error) && 'errno' in error
    ? new Error(`its files cannot be read or written (WASI errno ${error.errno})`)
    : error

const openPglite = async (folder: string, isDurable: boolean): Promise<PGlite> => {
  const options = { parsers: valueParsers, postgresqlconf: settings }
  if (!isDurable) return PGlite.create({ ...options, dataDir: folder })
  const pglite = await PGlite.create({ ...options, fs: new DurableNodeFS(folder), startParams: durableStartParams })
  // PGlite does not flush a new store, and an earlier process may have run with `isDurable` false.
  syncFolder(folder)
  return pglite
}

/**
 * Committed data survives a killed process, and with `isDurable` also a power failure. PGlite does not lock its files,
 * so this function locks the directory.
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
    const store = new EmbeddedStore(pglite, onPanic)
    const named = (port: string) => new Kysely<Tables>({ dialect: store.dialect(port) })
    const database = named('database')
    const guard = watchFreeSpace(database, directory, minimumFreeBytes, onDiskFull)
    return {
      database,
      named,
      kind: 'embedded',
      waiting: () => store.waiting,
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
