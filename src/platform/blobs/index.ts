/**
 * Files outside the database, on disk or in S3. Start with the `Blobs` port in blobs.ts; `openBlobs` opens the configured
 * store. A blob without a referencing row is an orphan: orphan-store.ts records it before it is written, and
 * orphan-cleanup.ts deletes it. download.ts serves a blob with ranges and conditions.
 */

export { type Blobs, createByteMeter, isBlobStoreUnavailable } from './blobs.ts'
export { type Downloadable, download } from './download.ts'
export { openBlobs } from './open-blobs.ts'
export { deleteOrphanBlobs } from './orphan-cleanup.ts'
export { addOrphanBlobs, claimBlob } from './orphan-store.ts'
