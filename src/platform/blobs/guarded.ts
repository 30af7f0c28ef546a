import { PassThrough, type Readable } from 'node:stream'
import { type Blobs, checkedKey } from './blobs.ts'
import { BlobsUnavailable } from './fault.ts'

const asked = async <T>(work: Promise<T>): Promise<T> => {
  try {
    return await work
  } catch (cause) {
    throw new BlobsUnavailable(cause)
  }
}

/**
 * A store whose failures are BlobsUnavailable, told from those of a source, which are thrown as they are. Streams that
 * are piped into each other break with each other, so a stream in between keeps apart who was first.
 */
export const guarded = (blobs: Blobs): Blobs => ({
  put: async (key, source: Readable) => {
    const between = new PassThrough()
    // It may break before the store has begun to read.
    between.on('error', () => undefined)
    let broken: Error | undefined
    const breaks = (error: Error): void => {
      broken ??= error
      between.destroy(error)
    }
    source.on('error', breaks).on('close', () => {
      if (!source.readableEnded) breaks(new Error('the source broke off'))
    })
    try {
      await blobs.put(checkedKey(key), source.pipe(between))
    } catch (cause) {
      const error = broken ?? new BlobsUnavailable(cause)
      source.destroy()
      throw error
    }
  },
  get: async (key, range) => asked(blobs.get(checkedKey(key), range)),
  delete: async (key) => asked(blobs.delete(checkedKey(key))),
  close: () => blobs.close(),
})
