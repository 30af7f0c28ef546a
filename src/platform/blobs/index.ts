/**
 * Files outside the database, on disk or in S3. Start with `Blobs` in blobs.ts. orphan-store.ts records a key before
 * its blob is written, and orphan-cleanup.ts deletes blobs that no row references. download.ts serves blobs, multipart-form.ts
 * and content.ts receive them. Depends on
 * the kernel, the database and platform/runtime.
 */

export { type Blobs, createByteMeter, isBlobStoreUnavailable } from './blobs.ts'
export { storeContent } from './content.ts'
export { type Downloadable, type DownloadRequest, download, parseByteRange } from './download.ts'
export { withBlobMetrics } from './measured-blobs.ts'
export { readForm } from './multipart-form.ts'
export { openBlobs } from './open-blobs.ts'
export { deleteOrphanBlobs } from './orphan-cleanup.ts'
export { addOrphanBlobs, claimBlob } from './orphan-store.ts'
export { watchBlobs } from './watch.ts'
