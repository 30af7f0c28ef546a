import type { Readable } from 'node:stream'

/** A range of bytes, both ends inclusive, as in HTTP. */
export interface ByteRange {
  first: number
  last: number
}

/**
 * A store of immutable files outside the database, streamed in both directions. Keys have the form `<area>/<id>`. All
 * methods reject if the store is unavailable.
 */
export interface Blobs {
  /** Stores the whole source, or nothing if the source fails; then it rejects. */
  put(key: string, source: Readable): Promise<void>
  /** Undefined if the blob does not exist. */
  get(key: string, range?: ByteRange): Promise<Readable | undefined>
  /** Does nothing if the blob does not exist. */
  delete(key: string): Promise<void>
  close(): Promise<void>
}

const keyPattern = /^[a-z]{1,32}\/[0-9a-f-]{36}$/

/** Returns the key. Throws a TypeError unless it is an area and an id, because keys become paths. */
export const assertBlobKey = (key: string): string => {
  if (!keyPattern.test(key)) throw new TypeError('no blob key')
  return key
}

/** A failure of the blob store: unreachable, too slow, full, or access denied. */
export class BlobsUnavailable extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? `blobs: ${cause.message}` : 'blobs', { cause })
    this.name = 'BlobsUnavailable'
  }
}

/** Whether an error means that the blob store is unavailable. The request then fails with 503. */
export const isBlobStoreUnavailable = (error: unknown): boolean => error instanceof BlobsUnavailable
