import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { embeddedFolder } from './embedded-folder.ts'

/** In the store's own folder, so that it goes where the store goes: into a backup, and away. */
const markOf = (directory: string): string => join(embeddedFolder(directory), 'portico.opened')
/** By this file PGlite tells whether there is a store; where it is missing a new one is made over whatever there is. */
const versionOf = (directory: string): string => join(embeddedFolder(directory), 'PG_VERSION')

/** Refuses what is left of a store that has been in use: only one whose making was broken off may be made again. */
export const refuseRemains = (directory: string): void => {
  if (existsSync(markOf(directory)) && !existsSync(versionOf(directory)))
    throw new Error('it has been in use, and its file PG_VERSION is missing')
}

/** From here on there is something to lose. */
export const markOpened = (directory: string): void => {
  const mark = markOf(directory)
  if (!existsSync(mark)) writeFileSync(mark, '')
}
