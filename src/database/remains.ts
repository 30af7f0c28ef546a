import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { syncPath } from './durable-files.ts'
import { embeddedFolder } from './embedded-folder.ts'

/** In the store's own folder, so that it goes where the store goes: into a backup, and away. */
const markOf = (directory: string): string => join(embeddedFolder(directory), 'portico.opened')
/** By this file PGlite tells whether there is a store; where it is missing a new one is made over whatever there is. */
const versionOf = (directory: string): string => join(embeddedFolder(directory), 'PG_VERSION')
/** Beside the store's folder while that is being made: PG_VERSION is not the last file of it. */
const makingOf = (directory: string): string => join(directory, 'pg.making')

/** On disk when it returns: what a loss of power leaves is judged by these files. */
const makeMark = (file: string): void => {
  writeFileSync(file, '')
  syncPath(file)
  syncPath(dirname(file))
}

/**
 * Refuses what is left of a store that has been in use; takes away one whose making was broken off, so that it is made anew.
 * Before anything opens it.
 */
export const clearRemains = (directory: string): void => {
  const isMade = existsSync(versionOf(directory))
  const isOpened = existsSync(markOf(directory))
  if (isOpened && !isMade) throw new Error('it has been in use, and its file PG_VERSION is missing')
  if (isOpened) return
  if (existsSync(makingOf(directory))) rmSync(embeddedFolder(directory), { recursive: true, force: true })
  else if (!isMade) makeMark(makingOf(directory))
}

/** From here on there is something to lose. */
export const markOpened = (directory: string): void => {
  const mark = markOf(directory)
  if (!existsSync(mark)) makeMark(mark)
  rmSync(makingOf(directory), { force: true })
}
