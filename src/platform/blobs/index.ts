/**
 * Files outside the database, on disk or in S3. Start with the `Blobs` port in blobs.ts; `openBlobs` opens the configured
 * store. A blob that no row references is an orphan: orphan-store.ts records its key before it is written, and
 * orphan-cleanup.ts deletes it. download.ts serves a blob with Range and conditional requests. Depends on the kernel, the
 * database and platform/runtime.
 */

export { type Blobs, createByteMeter, isBlobStoreUnavailable } from './blobs.ts'
export { type Downloadable, download } from './download.ts'
export { openBlobs } from './open-blobs.ts'
export { deleteOrphanBlobs } from './orphan-cleanup.ts'
export { addOrphanBlobs, claimBlob } from './orphan-store.ts'
