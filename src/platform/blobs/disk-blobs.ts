import { constants, createReadStream } from 'node:fs'
import { access, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { freeBytes, makeDirectory } from '../../database/index.ts'
import { errorCode } from '../../kernel/index.ts'
import { assertBlobKey, type Blobs } from './blobs.ts'

const partial = '.part'

const checkedBytes = 1_048_576

/** Leaves room for logs and for the chunks between two checks of parallel uploads. */
const defaultMinimumFreeBytes = 67_108_864

/**
 * Files are in 256 folders named after the last two digits of their ids. A blob gets its final path once it is
 * complete. Several replicas need a shared directory, or S3.
 */
export function createDiskBlobs(directory: string, minimumFreeBytes = defaultMinimumFreeBytes): Blobs {
  const pathOf = (key: string): string => {
    const [area = '', id = ''] = assertBlobKey(key).split('/')
    return join(directory, area, id.slice(-2), id)
  }
  return {
    put: async (key, source) => {
      const path = pathOf(key)
      const kept = (bytes: AsyncIterable<Buffer>) => keepFreeSpace(bytes, dirname(path), minimumFreeBytes)
      try {
        await makeDirectory(dirname(path))
        // Opened here, because a stream that opens the file itself can do so after its failure, and leave the file.
        const file = await open(path + partial, 'wx', 0o600)
        await pipeline(source, kept, file.createWriteStream())
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
    check: async () => {
      try {
        await makeDirectory(directory)
        await access(directory, constants.W_OK)
      } catch (cause) {
        throw new Error(`the folder ${directory} (PORTICO_DATA_DIR) cannot be written`, { cause })
      }
    },
    close: async () => undefined,
  }
}

async function* keepFreeSpace(chunks: AsyncIterable<Buffer>, directory: string, minimum: number) {
  let unchecked = checkedBytes
  for await (const chunk of chunks) {
    unchecked += chunk.length
    if (unchecked >= checkedBytes) {
      unchecked = 0
      if ((await freeBytes(directory)) < minimum)
        throw new Error(`the disk of ${directory} has less than ${minimum} bytes free`)
    }
    yield chunk
  }
}

/** The file must survive a power failure. */
async function flush(path: string): Promise<void> {
  await using handle = await open(path, 'r')
  await handle.sync()
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path)
    return true
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false
    throw error
  }
}
