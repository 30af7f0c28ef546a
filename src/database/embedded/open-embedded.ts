import { PGlite } from '@electric-sql/pglite'
import { Kysely, sql } from 'kysely'
import { isRecord } from '../../kernel/index.ts'
import { migrate } from '../migrator/migrate.ts'
import type { OpenDatabase } from '../open-database.ts'
import type { Tables } from '../tables.ts'
import { parsers } from '../value-parsers.ts'
import { embeddedStorePath } from './data-directory.ts'
import { embeddedDialect } from './dialect.ts'
import { lockDirectory } from './directory-lock.ts'
import { DurableNodeFS, durableStartParams, syncFolder } from './durable-files.ts'
import { assertFreeSpace, watchFreeSpace } from './free-space.ts'
import { markStoreOpened, recoverIncompleteStore } from './incomplete-store.ts'

/** Written once, when a store is created: one connection needs little, and memory is what PGlite costs most. */
const settings = ['shared_buffers=16MB', 'wal_buffers=1MB', 'min_wal_size=32MB', 'max_wal_size=64MB', 'timezone=UTC']

export interface EmbeddedTarget {
  kind: 'embedded'
  directory: string
  /** Whether a commit is on disk before it is acknowledged, as with a PostgreSQL server. */
  isDurable: boolean
  /** Below so much free room the store is read only. */
  minimumFreeBytes: number
  /** Told when that begins and when it ends. */
  onDiskFull(isFull: boolean): void
}

const makeDirectory = async (directory: string): Promise<void> => {
  try {
    await makeDirectory(directory)
  } catch (error) {
    throw new Error(`the data directory ${directory} (PORTICO_DATA_DIR) cannot be made`, { cause: error })
  }
}

/** What PGlite's file system throws is no Error, and holds a number of WASI's alone: 2 is EACCES, say. */
const toError = (error: unknown): unknown =>
  isRecord(error) && !(error instanceof Error) && 'errno' in error
    ? new Error(`its files cannot be read or written (WASI errno ${error.errno})`)
    : error

const openPglite = async (folder: string, isDurable: boolean): Promise<PGlite> => {
  const options = { parsers, postgresqlconf: settings }
  if (!isDurable) return PGlite.create({ ...options, dataDir: folder })
  const pglite = await PGlite.create({ ...options, fs: new DurableNodeFS(folder), startParams: durableStartParams })
  // PGlite copies a new store into place without a flush, and an earlier process may have run without durability.
  syncFolder(folder)
  return pglite
}

/**
 * PGlite on disk: safe against a killed process, and against a loss of power where it `isDurable`.
 * It takes no lock of its own, so one is taken here, and a second process is refused.
 */
export const openEmbedded = async ({
  directory,
  isDurable,
  minimumFreeBytes,
  onDiskFull,
}: Omit<EmbeddedTarget, 'kind'>): Promise<OpenDatabase> => {
  await makeDirectory(directory)
  await assertFreeSpace(directory, minimumFreeBytes)
  const lock = lockDirectory(directory)
  try {
    recoverIncompleteStore(directory)
    const pglite = await openPglite(embeddedStorePath(directory), isDurable)
    markStoreOpened(directory)
    const over = Promise.withResolvers<Error>()
    let isOver = false
    const onPanic = (panicked: Error): void => {
      isOver = true
      over.resolve(panicked)
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
      fatal: over.promise,
      close: async () => {
        guard.stop()
        if (!isOver) await pglite.close()
        lock.release()
      },
    }
  } catch (error) {
    lock.release()
    throw new Error(`the embedded store in ${directory} could not be opened`, { cause: toError(error) })
  }
}
