import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { embeddedStorePath } from './data-directory.ts'
import { syncPath } from './durable-files.ts'

/** In the store's own folder, so that it goes where the store goes: into a backup, and away. */
const openedMark = (directory: string): string => join(embeddedStorePath(directory), 'portico.opened')
/** By this file PGlite tells whether there is a store; where it is missing a new one is made over whatever there is. */
const versionFile = (directory: string): string => join(embeddedStorePath(directory), 'PG_VERSION')
/** Beside the store's folder while that is being made: PG_VERSION is not the last file of it. */
const creationMark = (directory: string): string => join(directory, 'pg.making')

/** On disk when it returns: what a loss of power leaves is judged by these files. */
const writeMark = (file: string): void => {
  writeFileSync(file, '')
  syncPath(file)
  syncPath(dirname(file))
}

/**
 * Refuses what is left of a store that has been in use; takes away one whose making was broken off, so that it is made anew.
 * Before anything opens it.
 */
export const recoverIncompleteStore = (directory: string): void => {
  const isMade = existsSync(versionFile(directory))
  const isOpened = existsSync(openedMark(directory))
  if (isOpened && !isMade) throw new Error('it has been in use, and its file PG_VERSION is missing')
  if (isOpened) return
  if (existsSync(creationMark(directory))) rmSync(embeddedStorePath(directory), { recursive: true, force: true })
  else if (!isMade) writeMark(creationMark(directory))
}

/** From here on there is something to lose. */
export const markStoreOpened = (directory: string): void => {
  const mark = openedMark(directory)
  if (!existsSync(mark)) writeMark(mark)
  rmSync(creationMark(directory), { force: true })
}
