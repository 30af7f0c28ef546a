import { join } from 'node:path'
import { PassThrough, type Readable } from 'node:stream'
import { assertBlobKey, type Blobs, BlobsUnavailable } from './blobs.ts'
import { createDiskBlobs } from './disk-blobs.ts'
import type { S3Settings } from './s3-blobs.ts'

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
export const withStoreErrors = (blobs: Blobs): Blobs => ({
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
      await blobs.put(assertBlobKey(key), source.pipe(between))
    } catch (cause) {
      const error = broken ?? new BlobsUnavailable(cause)
      source.destroy()
      throw error
    }
  },
  get: async (key, range) => asked(blobs.get(assertBlobKey(key), range)),
  delete: async (key) => asked(blobs.delete(assertBlobKey(key))),
  close: () => blobs.close(),
})

export type BlobStorage = { kind: 'disk' } | ({ kind: 's3' } & S3Settings)

/** The store that the configuration names. Amazon's client is loaded only where it is used: it is a big one. */
export const openBlobs = async (storage: BlobStorage, dataDirectory: string): Promise<Blobs> => {
  if (storage.kind === 'disk') return withStoreErrors(createDiskBlobs(join(dataDirectory, 'blobs')))
  const { createS3Blobs } = await import('./s3-blobs.ts')
  return withStoreErrors(createS3Blobs(storage))
}
