import type { DependencyLog } from '../dependency-log.ts'
import { type Blobs, isBlobStoreAway } from './blobs.ts'

interface BlobWatch {
  /** Rejects if the last check failed. Does not wait for the storage: a slow one must not delay readiness. */
  check(): Promise<void>
  close(): void
}

/** Each check of S3 is one request. */
const everyMs = 10_000

/** Rejects if the storage cannot be used, for example because its bucket is missing. It can be away at the start. */
export async function watchBlobs(blobs: Pick<Blobs, 'check'>, dependencies: DependencyLog): Promise<BlobWatch> {
  let failure: unknown
  let isChecking = false
  const run = async (): Promise<void> => {
    try {
      await blobs.check()
      failure = undefined
      dependencies.works('files')
    } catch (error) {
      failure = error
      dependencies.failed('files', error)
    }
  }
  await run()
  if (failure !== undefined && !isBlobStoreAway(failure)) throw failure
  const timer = setInterval(async () => {
    if (isChecking) return
    isChecking = true
    await run()
    isChecking = false
  }, everyMs).unref()
  return {
    check: async () => {
      if (failure !== undefined) throw failure
    },
    close: () => clearInterval(timer),
  }
}
