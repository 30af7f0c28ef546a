import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { embeddedStorePath } from './data-directory.ts'
import { syncPath } from './durable-files.ts'

/**
 * Returns the path of the file that marks a store as opened before. The file is inside the store's folder, so backups
 * and restores include the file.
 */
const openedMark = (directory: string): string => join(embeddedStorePath(directory), 'portico.opened')
/**
 * Returns the path of PG_VERSION. If the file is missing, PGlite treats the folder as empty and overwrites it with a
 * new store.
 */
const versionFile = (directory: string): string => join(embeddedStorePath(directory), 'PG_VERSION')
/**
 * Returns the path of the file that exists while a store is being created. PG_VERSION cannot show that the creation is
 * complete, because PGlite writes other files after PG_VERSION.
 */
const creationMark = (directory: string): string => join(directory, 'pg.making')

/** Writes an empty file and flushes it to disk, because the file must survive a power failure. */
const writeMark = (file: string): void => {
  writeFileSync(file, '')
  syncPath(file)
  syncPath(dirname(file))
}

/**
 * Deletes a store whose creation was interrupted. PGlite then creates a new store. Throws if the store was opened
 * before and its PG_VERSION file is missing. Call this function before PGlite opens the folder.
 */
export const recoverIncompleteStore = (directory: string): void => {
  const isCreated = existsSync(versionFile(directory))
  const wasOpened = existsSync(openedMark(directory))
  if (wasOpened && !isCreated) throw new Error('it has been opened before, but its file PG_VERSION is missing')
  if (wasOpened) return
  if (existsSync(creationMark(directory))) rmSync(embeddedStorePath(directory), { recursive: true, force: true })
  else if (!isCreated) writeMark(creationMark(directory))
}

/** Records that the store was opened and can contain data. */
export const markStoreOpened = (directory: string): void => {
  const mark = openedMark(directory)
  if (!existsSync(mark)) writeMark(mark)
  rmSync(creationMark(directory), { force: true })
}
