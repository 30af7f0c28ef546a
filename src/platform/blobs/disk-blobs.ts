import { createReadStream, createWriteStream } from 'node:fs'
import { access, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { makeDirectory } from '../../database/index.ts'
import { errorCode } from '../../kernel/index.ts'
import { assertBlobKey, type Blobs } from './blobs.ts'

const partial = '.part'

const orUndefined = async <T>(work: Promise<T>): Promise<T | undefined> => {
  try {
    return await work
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Makes a written file, and its name, survive a loss of power. */
const settle = async (path: string): Promise<void> => {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/**
 * Files below a directory, spread over 256 folders by the end of their ids. A blob is written beside its place and
 * moved there when it is whole. Several replicas need one directory that they all see, or S3.
 */
export const createDiskBlobs = (directory: string): Blobs => {
  const pathOf = (key: string): string => {
    const [room = '', id = ''] = assertBlobKey(key).split('/')
    return join(directory, room, id.slice(-2), id)
  }
  return {
    put: async (key, source) => {
      const path = pathOf(key)
      try {
        await makeDirectory(dirname(path))
        await pipeline(source, createWriteStream(path + partial, { flags: 'wx', mode: 0o600 }))
        await settle(path + partial)
        await rename(path + partial, path)
        await settle(dirname(path))
      } catch (error) {
        source.destroy()
        await rm(path + partial, { force: true })
        throw error
      }
    },
    get: async (key, range) => {
      const path = pathOf(key)
      const found = await orUndefined(access(path).then(() => true))
      return found ? createReadStream(path, range && { start: range.first, end: range.last }) : undefined
    },
    delete: async (key) => {
      await rm(pathOf(key), { force: true })
      await rm(pathOf(key) + partial, { force: true })
    },
    close: async () => undefined,
  }
}
