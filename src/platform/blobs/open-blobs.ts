import { join } from 'node:path'
import { PassThrough, type Readable } from 'node:stream'
import { assertBlobKey, type Blobs, BlobsUnavailable } from './blobs.ts'
import { createDiskBlobs } from './disk-blobs.ts'
import type { S3Settings } from './s3-blobs.ts'

export type BlobStorage = { kind: 'disk'; minimumFreeBytes?: number } | ({ kind: 's3' } & S3Settings)

/** Opens the configured store. Loads the AWS SDK, which is large, only for S3. */
export async function openBlobs(storage: BlobStorage, dataDirectory: string): Promise<Blobs> {
  if (storage.kind === 'disk')
    return withStoreErrors(createDiskBlobs(join(dataDirectory, 'blobs'), storage.minimumFreeBytes))
  const { createS3Blobs } = await import('./s3-blobs.ts')
  return withStoreErrors(createS3Blobs(storage))
}

/**
 * Failures of the store become `BlobsUnavailable`; those of a source are unchanged. Piped streams fail together, so the
 * relay shows which side failed first.
 */
function withStoreErrors(blobs: Blobs): Blobs {
  return {
    put: async (key, source: Readable) => {
      const relay = new PassThrough()
      // An error event without a listener would end the process.
      relay.on('error', () => undefined)
      let sourceError: Error | undefined
      const failSource = (error: Error): void => {
        sourceError ??= error
        relay.destroy(error)
      }
      source.on('error', failSource).on('close', () => {
        if (!source.readableEnded) failSource(new Error('the source closed before its end'))
      })
      try {
        await blobs.put(assertBlobKey(key), source.pipe(relay))
      } catch (cause) {
        const error = sourceError ?? new BlobsUnavailable(cause)
        source.destroy()
        throw error
      }
    },
    get: async (key, range, signal) => withUnavailable(blobs.get(assertBlobKey(key), range, signal)),
    delete: async (key) => withUnavailable(blobs.delete(assertBlobKey(key))),
    close: () => blobs.close(),
  }
}

async function withUnavailable<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (cause) {
    throw new BlobsUnavailable(cause)
  }
}
