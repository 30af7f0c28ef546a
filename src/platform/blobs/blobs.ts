import { createHash } from 'node:crypto'
import { type Readable, Transform } from 'node:stream'
import { isUnreachable } from '../../database/index.ts'
import { DependencyFailure, isRecord } from '../../kernel/index.ts'
import { countStreamedBytes } from '../runtime/index.ts'

/** Both ends are inclusive, as in HTTP. */
export interface ByteRange {
  first: number
  last: number
}

/**
 * Immutable files outside the database. Keys have the form `<area>/<id>`. All methods reject if the store is
 * unavailable.
 */
export interface Blobs {
  /** If the source fails, stores nothing and rejects. */
  put(key: string, source: Readable): Promise<void>
  /** Undefined if the blob does not exist. The signal ends the wait for S3. */
  get(key: string, range?: ByteRange, signal?: AbortSignal): Promise<Readable | undefined>
  /** Does nothing if the blob does not exist. */
  delete(key: string): Promise<void>
  /** Rejects if the folder cannot be written, or the bucket cannot be read. */
  check(): Promise<void>
  close(): Promise<void>
}

const keyPattern = /^[a-z]{1,32}\/[0-9a-f-]{36}$/

/** Throws a TypeError for other keys, because keys become file paths. */
export function assertBlobKey(key: string): string {
  if (!keyPattern.test(key)) throw new TypeError('not a blob key')
  return key
}

/** Unreachable, too slow, full, or access denied. */
export class BlobsUnavailable extends DependencyFailure {
  constructor(cause: unknown) {
    super(cause instanceof Error ? `blobs: ${cause.message}` : 'blobs', { cause })
    this.name = 'BlobsUnavailable'
  }
}

/** The request then fails with 503. */
export function isBlobStoreUnavailable(error: unknown): boolean {
  return error instanceof BlobsUnavailable
}

/** Whether the storage does not respond now. A missing bucket or a wrong key needs a change of the configuration. */
export function isBlobStoreAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return isUnreachable(error) || error.name === 'TimeoutError' || isServerError(error) || isBlobStoreAway(error.cause)
}

export interface ByteMeter {
  through: Transform
  size(): number
  /** In hex. Call this once, after the stream has ended. */
  sha256(): string
}

/** Measures a stream on its way to `blobs.put`. `assertSize` gets the size so far and may throw to stop the stream. */
export function createByteMeter(assertSize: (size: number) => void = () => undefined): ByteMeter {
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

/** The SDK's form of a response. */
function isServerError(error: Error): boolean {
  const response: unknown = '$metadata' in error ? error.$metadata : undefined
  return isRecord(response) && typeof response.httpStatusCode === 'number' && response.httpStatusCode >= 500
}
