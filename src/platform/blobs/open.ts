import { join } from 'node:path'
import type { Blobs } from './blobs.ts'
import { createDiskBlobs } from './disk.ts'
import { guarded } from './guarded.ts'
import type { S3Settings } from './s3.ts'

export type BlobStorage = { kind: 'disk' } | ({ kind: 's3' } & S3Settings)

/** The store that the configuration names. Amazon's client is loaded only where it is used: it is a big one. */
export const openBlobs = async (storage: BlobStorage, dataDirectory: string): Promise<Blobs> => {
  if (storage.kind === 'disk') return guarded(createDiskBlobs(join(dataDirectory, 'blobs')))
  const { createS3Blobs } = await import('./s3.ts')
  return guarded(createS3Blobs(storage))
}
