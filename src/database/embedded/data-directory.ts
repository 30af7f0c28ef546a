import { existsSync } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** The folder of PGlite's files in a data directory. */
export const embeddedStorePath = (directory: string): string => join(directory, 'pg')

export const hasEmbeddedStore = (directory: string): boolean => existsSync(embeddedStorePath(directory))

const isDirectory = async (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )

/**
 * Creates a directory that only this user may access, with its missing parents. Node's `recursive` option never returns
 * if an existing parent reports ENOENT, as /proc does.
 */
export const makeDirectory = async (path: string): Promise<void> => {
  if (await isDirectory(path)) return
  if (dirname(path) !== path) await makeDirectory(dirname(path))
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    // Another process may have created it meanwhile.
    if (!(await isDirectory(path))) throw error
  }
}
