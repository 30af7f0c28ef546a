import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Where PGlite keeps its files in a data directory. */
export const embeddedFolder = (directory: string): string => join(directory, 'pg')

export const hasEmbedded = (directory: string): boolean => existsSync(embeddedFolder(directory))
