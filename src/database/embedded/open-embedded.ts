import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { Kysely, sql } from 'kysely'
import { isRecord } from '../../kernel/index.ts'
import type { HoldLimit, TraceStatement } from '../lease.ts'
import { migrate } from '../migrator/migrate.ts'
import type { OpenDatabase } from '../port.ts'
import { type Tables, valueParsers } from '../tables.ts'
import { embeddedStorePath, lockDirectory, makeDirectory } from './data-directory.ts'
import { EmbeddedStore } from './dialect.ts'
import { assertFreeSpace, watchFreeSpace } from './disk-space.ts'
import { DurableNodeFS, durableStartParams, syncFolder, syncPath } from './durable-files.ts'

/** The values are small: the store has one connection, and PGlite's main cost is memory. */
const settings = ['shared_buffers=16MB', 'wal_buffers=1MB', 'min_wal_size=32MB', 'max_wal_size=64MB', 'timezone=UTC']

export interface EmbeddedTarget {
  kind: 'embedded'
  directory: string
  isDurable: boolean
  /** In bytes. Below it, the store is read-only. */
  minimumFreeBytes: number
  trace?: TraceStatement | undefined
  onDiskFull(isFull: boolean): void
}

/**
 * Committed data survives a killed process, and with `isDurable` also a power failure. PGlite does not lock its files,
 * so this function locks the directory.
 */
export async function openEmbedded({
  directory,
  isDurable,
  minimumFreeBytes,
  trace,
  onDiskFull,
}: Omit<EmbeddedTarget, 'kind'>): Promise<OpenDatabase> {
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
    const store = new EmbeddedStore(pglite, onPanic, trace)
    const named = (port: string, limit?: HoldLimit) => new Kysely<Tables>({ dialect: store.dialect(port, limit) })
    const database = named('database')
    const unlimited = named('database', null)
    const guard = watchFreeSpace(database, directory, minimumFreeBytes, onDiskFull)
    return {
      database,
      named,
      kind: 'embedded',
      waiting: () => store.waiting,
      connections: () => ({ inUse: 0, size: 0 }),
      check: async () => {
        await sql`SELECT 1`.execute(database)
        return null
      },
      withoutTimeouts: async (work, signal) => {
        signal?.throwIfAborted()
        return work(unlimited)
      },
      inOwnSession: (work) => work(unlimited),
      migrate: (owners) => migrate(unlimited, owners),
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

async function createDataDirectory(directory: string): Promise<void> {
  try {
    await makeDirectory(directory)
  } catch (error) {
    throw new Error(`the data directory ${directory} (PORTICO_DATA_DIR) cannot be created`, { cause: error })
  }
}

/**
 * Deletes a store whose creation was interrupted. Throws if an opened store has no PG_VERSION. Call this before PGlite
 * opens the folder.
 */
function recoverIncompleteStore(directory: string): void {
  const isCreated = existsSync(versionFile(directory))
  const wasOpened = existsSync(openedMark(directory))
  if (wasOpened && !isCreated) throw new Error('it has been opened before, but its file PG_VERSION is missing')
  if (wasOpened) return
  if (existsSync(creationMark(directory))) rmSync(embeddedStorePath(directory), { recursive: true, force: true })
  else if (!isCreated) writeMark(creationMark(directory))
}

/** Without this file, PGlite overwrites the folder with a new store. */
function versionFile(directory: string): string {
  return join(embeddedStorePath(directory), 'PG_VERSION')
}

/** Marks a store as opened before. The file is inside the store's folder, so that backups and restores include it. */
function openedMark(directory: string): string {
  return join(embeddedStorePath(directory), 'portico.opened')
}

/** Exists while a store is being created. PG_VERSION cannot show that, because PGlite writes other files after it. */
function creationMark(directory: string): string {
  return join(directory, 'pg.making')
}

/** The file must survive a power failure. */
function writeMark(file: string): void {
  writeFileSync(file, '')
  syncPath(file)
  syncPath(dirname(file))
}

async function openPglite(folder: string, isDurable: boolean): Promise<PGlite> {
  const options = { parsers: valueParsers, postgresqlconf: settings }
  if (!isDurable) return PGlite.create({ ...options, dataDir: folder })
  const pglite = await PGlite.create({ ...options, fs: new DurableNodeFS(folder), startParams: durableStartParams })
  // PGlite does not flush a new store, and an earlier process may have run with `isDurable` false.
  syncFolder(folder)
  return pglite
}

function markStoreOpened(directory: string): void {
  const mark = openedMark(directory)
  if (!existsSync(mark)) writeMark(mark)
  rmSync(creationMark(directory), { force: true })
}

/** PGlite's file system throws plain objects with a WASI error number, such as 2 for EACCES. */
function toError(error: unknown): unknown {
  return isRecord(error) && !(error instanceof Error) && 'errno' in error
    ? new Error(`its files cannot be read or written (WASI errno ${error.errno})`)
    : error
}
