import { existsSync } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** Where PGlite keeps its files in a data directory. */
export const embeddedStorePath = (directory: string): string => join(directory, 'pg')

export const hasEmbeddedStore = (directory: string): boolean => existsSync(embeddedStorePath(directory))

const isDirectory = async (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )

/**
 * A folder that nobody else may enter, with those above it that are missing. Node's own `recursive` tries for ever where
 * a folder that is there says that it is not when one is to be made in it, as /proc does.
 */
export const makeDirectory = async (path: string): Promise<void> => {
  if (await isDirectory(path)) return
  if (dirname(path) !== path) await makeDirectory(dirname(path))
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    // Somebody else may have made it meanwhile.
    if (!(await isDirectory(path))) throw error
  }
}
