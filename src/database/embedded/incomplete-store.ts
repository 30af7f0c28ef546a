import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { embeddedStorePath } from './data-directory.ts'
import { syncPath } from './durable-files.ts'

/** Marks a store as opened before. The file is inside the store's folder, so that backups and restores include it. */
const openedMark = (directory: string): string => join(embeddedStorePath(directory), 'portico.opened')
/** Without this file, PGlite overwrites the folder with a new store. */
const versionFile = (directory: string): string => join(embeddedStorePath(directory), 'PG_VERSION')
/** Exists while a store is being created. PG_VERSION cannot show that, because PGlite writes other files after it. */
const creationMark = (directory: string): string => join(directory, 'pg.making')

/** The file must survive a power failure. */
const writeMark = (file: string): void => {
  writeFileSync(file, '')
  syncPath(file)
  syncPath(dirname(file))
}

/**
 * Deletes a store whose creation was interrupted. Throws if an opened store has no PG_VERSION. Call this before PGlite
 * opens the folder.
 */
export const recoverIncompleteStore = (directory: string): void => {
  const isCreated = existsSync(versionFile(directory))
  const wasOpened = existsSync(openedMark(directory))
  if (wasOpened && !isCreated) throw new Error('it has been opened before, but its file PG_VERSION is missing')
  if (wasOpened) return
  if (existsSync(creationMark(directory))) rmSync(embeddedStorePath(directory), { recursive: true, force: true })
  else if (!isCreated) writeMark(creationMark(directory))
}

export const markStoreOpened = (directory: string): void => {
  const mark = openedMark(directory)
  if (!existsSync(mark)) writeMark(mark)
  rmSync(creationMark(directory), { force: true })
}
