import { createReadStream, createWriteStream } from 'node:fs'
import { access, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { makeDirectory } from '../../database/index.ts'
import { errorCode } from '../../kernel/index.ts'
import { assertBlobKey, type Blobs } from './blobs.ts'

const partial = '.part'

const exists = async (path: string): Promise<boolean> => {
  try {
    await access(path)
    return true
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false
    throw error
  }
}

/** Flushes a file or a folder, so that it survives a power failure. */
const flush = async (path: string): Promise<void> => {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/**
 * Stores blobs as files in a directory, in 256 folders by the end of their ids. A blob is written to a temporary file next to its final
 * path and renamed when it is complete. Several replicas need a shared directory, or S3.
 */
export const createDiskBlobs = (directory: string): Blobs => {
  const pathOf = (key: string): string => {
    const [area = '', id = ''] = assertBlobKey(key).split('/')
    return join(directory, area, id.slice(-2), id)
  }
  return {
    put: async (key, source) => {
      const path = pathOf(key)
      try {
        await makeDirectory(dirname(path))
        await pipeline(source, createWriteStream(path + partial, { flags: 'wx', mode: 0o600 }))
        await flush(path + partial)
        await rename(path + partial, path)
        await flush(dirname(path))
      } catch (error) {
        source.destroy()
        await rm(path + partial, { force: true })
        throw error
      }
    },
    get: async (key, range) => {
      const path = pathOf(key)
      return (await exists(path)) ? createReadStream(path, range && { start: range.first, end: range.last }) : undefined
    },
    delete: async (key) => {
      await rm(pathOf(key), { force: true })
      await rm(pathOf(key) + partial, { force: true })
    },
    close: async () => undefined,
  }
}
