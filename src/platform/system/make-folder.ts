import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

const isFolder = async (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )

/**
 * A folder that nobody else may enter, with those above it that are missing. Node's own `recursive` tries for ever where
 * a folder that is there says that it is not when one is to be made in it, as /proc does.
 */
export const makeFolder = async (path: string): Promise<void> => {
  if (await isFolder(path)) return
  if (dirname(path) !== path) await makeFolder(dirname(path))
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    // Somebody else may have made it meanwhile.
    if (!(await isFolder(path))) throw error
  }
}
