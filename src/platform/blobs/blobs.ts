import { createHash } from 'node:crypto'
import { type Readable, Transform } from 'node:stream'
import { countStreamedBytes } from '../runtime/index.ts'

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
  /** Returns the blob, or undefined if it does not exist. */
  get(key: string, range?: ByteRange): Promise<Readable | undefined>
  /** Does nothing if the blob does not exist. */
  delete(key: string): Promise<void>
  close(): Promise<void>
}

const keyPattern = /^[a-z]{1,32}\/[0-9a-f-]{36}$/

/** Returns the key. Throws a TypeError unless it is an area and an id, because keys become paths. */
export const assertBlobKey = (key: string): string => {
  if (!keyPattern.test(key)) throw new TypeError('not a blob key')
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

/** A stream that measures the bytes that pass through it. */
export interface ByteMeter {
  through: Transform
  size(): number
  /** Hex. Call this once, after the stream has ended. */
  sha256(): string
}

/** Creates a stream that counts and hashes its bytes. `assertSize` gets the size so far and may throw to stop it. */
export const createByteMeter = (assertSize: (size: number) => void = () => undefined): ByteMeter => {
  const hash = createHash('sha256')
  let size = 0
  const through = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length
      hash.update(chunk)
      countStreamedBytes(chunk.length)
      try {
        assertSize(size)
        done(null, chunk)
      } catch (error) {
        done(error instanceof Error ? error : new Error(String(error)))
      }
    },
  })
  return { through, size: () => size, sha256: () => hash.digest('hex') }
}
