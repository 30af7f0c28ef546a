import { join } from 'node:path'
import { PassThrough, type Readable } from 'node:stream'
import type { DependencyLog } from '../dependency-log.ts'
import { assertBlobKey, type Blobs, BlobsUnavailable } from './blobs.ts'
import { createDiskBlobs } from './disk-blobs.ts'
import type { S3Settings } from './s3-blobs.ts'

export type BlobStorage = { kind: 'disk'; minimumFreeBytes?: number } | ({ kind: 's3' } & S3Settings)

/** Opens the configured store. Loads the AWS SDK, which is large, only for S3. */
export async function openBlobs(
  storage: BlobStorage,
  dataDirectory: string,
  dependencies?: DependencyLog,
): Promise<Blobs> {
  if (storage.kind === 'disk')
    return withStoreErrors(createDiskBlobs(join(dataDirectory, 'blobs'), storage.minimumFreeBytes), dependencies)
  const { createS3Blobs } = await import('./s3-blobs.ts')
  return withStoreErrors(createS3Blobs(storage), dependencies)
}

/**
 * Failures of the store become `BlobsUnavailable`; those of a source are unchanged. Piped streams fail together, so the
 * relay shows which side failed first.
 */
function withStoreErrors(blobs: Blobs, dependencies: DependencyLog | undefined): Blobs {
  const unavailable = (cause: unknown): BlobsUnavailable => {
    const error = new BlobsUnavailable(cause)
    dependencies?.failed('files', error)
    return error
  }
  const track = async <T>(work: Promise<T>): Promise<T> => {
    try {
      const done = await work
      dependencies?.works('files')
      return done
    } catch (cause) {
      throw unavailable(cause)
    }
  }
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
        dependencies?.works('files')
      } catch (cause) {
        const error = sourceError ?? unavailable(cause)
        source.destroy()
        throw error
      }
    },
    get: async (key, range, signal) => track(blobs.get(assertBlobKey(key), range, signal)),
    delete: async (key) => track(blobs.delete(assertBlobKey(key))),
    check: async () => track(blobs.check()),
    close: () => blobs.close(),
  }
}
