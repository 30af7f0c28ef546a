import type { BlobMetrics } from '../telemetry/index.ts'
import { type Blobs, isBlobStoreUnavailable } from './blobs.ts'

/** Measures until a blob is stored, found or deleted, but not until its bytes are read. */
export function withBlobMetrics(blobs: Blobs, observe: BlobMetrics): Blobs {
  const measure = async <T>(operation: Parameters<BlobMetrics>[0], work: Promise<T>): Promise<T> => {
    const start = performance.now()
    let outcome: Parameters<BlobMetrics>[1] = 'ok'
    try {
      return await work
    } catch (error) {
      outcome = isBlobStoreUnavailable(error) ? 'failed' : 'aborted'
      throw error
    } finally {
      observe(operation, outcome, (performance.now() - start) / 1_000)
    }
  }
  return {
    ...blobs,
    put: (key, source) => measure('put', blobs.put(key, source)),
    get: (key, range, signal) => measure('get', blobs.get(key, range, signal)),
    delete: (key) => measure('delete', blobs.delete(key)),
  }
}
