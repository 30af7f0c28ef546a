import { lstatSync, mkdirSync } from 'node:fs'
import { enableCompileCache, getCompileCacheDir } from 'node:module'
import { join, resolve } from 'node:path'
import { getuid } from 'node:process'

/**
 * Keeps what Node makes of the sources for the next start, beside the data. It is run as it is found, so the folder is
 * this user's alone, or it is not used. NODE_COMPILE_CACHE names another one, NODE_DISABLE_COMPILE_CACHE=1 keeps none.
 */
export const keepCompiled = (dataDirectory: string): void => {
  if (getCompileCacheDir() !== undefined) return
  const folder = join(resolve(dataDirectory), 'compiled')
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const { uid, mode } = lstatSync(folder)
    const isOurs = (getuid === undefined || uid === getuid()) && (mode & 0o077) === 0
    if (isOurs) enableCompileCache(folder)
  } catch {
    // A folder that cannot be written to: the start takes longer, and is no worse.
  }
}
