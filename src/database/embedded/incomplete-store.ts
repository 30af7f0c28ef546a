import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { embeddedStorePath } from './data-directory.ts'
import { syncPath } from './durable-files.ts'

/** Marks a store that has been opened. It lies in the store's folder, so that backups and restores include it. */
const openedMark = (directory: string): string => join(embeddedStorePath(directory), 'portico.opened')
/** PGlite takes a folder without this file for an empty one, and creates a new store over it. */
const versionFile = (directory: string): string => join(embeddedStorePath(directory), 'PG_VERSION')
/** Lies next to the store's folder while the store is created: PG_VERSION is not the last file to be written. */
const creationMark = (directory: string): string => join(directory, 'pg.making')

/** Writes an empty file and flushes it: the marks must be right after a power failure. */
const writeMark = (file: string): void => {
  writeFileSync(file, '')
  syncPath(file)
  syncPath(dirname(file))
}

/**
 * Deletes a store whose creation was interrupted, so that it is created again. Throws if the store has been opened
 * before and is damaged. Call this before PGlite opens the folder.
 */
export const recoverIncompleteStore = (directory: string): void => {
  const isCreated = existsSync(versionFile(directory))
  const wasOpened = existsSync(openedMark(directory))
  if (wasOpened && !isCreated) throw new Error('it has been opened before, but its file PG_VERSION is missing')
  if (wasOpened) return
  if (existsSync(creationMark(directory))) rmSync(embeddedStorePath(directory), { recursive: true, force: true })
  else if (!isCreated) writeMark(creationMark(directory))
}

/** Records that the store has been opened and may hold data. */
export const markStoreOpened = (directory: string): void => {
  const mark = openedMark(directory)
  if (!existsSync(mark)) writeMark(mark)
  rmSync(creationMark(directory), { force: true })
}
