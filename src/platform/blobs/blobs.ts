import type { Readable } from 'node:stream'

/** A span of bytes, both ends included, as HTTP counts them. */
export interface ByteRange {
  first: number
  last: number
}

/**
 * Bytes outside the database, streamed both ways and never held whole. Keys are ours: `<room>/<id>`. What is put under
 * a key is never changed; a fault throws.
 */
export interface Blobs {
  /** Takes the source whole or leaves nothing: a source that breaks off rejects. */
  put(key: string, source: Readable): Promise<void>
  /** Undefined where there is no such blob. */
  get(key: string, range?: ByteRange): Promise<Readable | undefined>
  /** Nothing happens where there is no such blob. */
  delete(key: string): Promise<void>
  close(): Promise<void>
}

const keyPattern = /^[a-z]{1,32}\/[0-9a-f-]{36}$/

/** Keys become paths: anything but a room and an id is a fault of ours. */
export const assertBlobKey = (key: string): string => {
  if (!keyPattern.test(key)) throw new TypeError('no blob key')
  return key
}

/** The blob store did not do what it was asked, whatever the reason: not there, too slow, full, not to be entered. */
export class BlobsUnavailable extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? `blobs: ${cause.message}` : 'blobs', { cause })
    this.name = 'BlobsUnavailable'
  }
}

/** Whether a failure means that the blob store is not to be had: the request is then answered 503 and never passes. */
export const isBlobStoreUnavailable = (error: unknown): boolean => error instanceof BlobsUnavailable
