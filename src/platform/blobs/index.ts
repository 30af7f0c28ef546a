/**
 * Files outside the database, on disk or in S3. Start with `Blobs` in blobs.ts. orphan-store.ts records a key before
 * its blob is written, and orphan-cleanup.ts deletes blobs that no row references. download.ts serves blobs. Depends on
 * the kernel, the database and platform/runtime.
 */

export { type Blobs, createByteMeter, isBlobStoreUnavailable } from './blobs.ts'
export { type Downloadable, type DownloadRequest, download } from './download.ts'
export { openBlobs } from './open-blobs.ts'
export { deleteOrphanBlobs } from './orphan-cleanup.ts'
export { addOrphanBlobs, claimBlob } from './orphan-store.ts'
