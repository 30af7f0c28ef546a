import type { Database } from '../../database/index.ts'
import { type Instant, messageOf } from '../../kernel/index.ts'
import type { Blobs } from './blobs.ts'
import { markForDeletion, postponeDeletion, removeDeleted } from './orphan-store.ts'

const batchSize = 200
/** After this many failures, the store is probably down, and each further deletion could take a full timeout. */
const maxConsecutiveFailures = 10

/**
 * Deletes the due blobs of an area that no row has claimed. If deletions fail, rejects at the end, and tries the failed
 * ones last next time. Does not list the store's keys, because there may be millions, including those of other
 * deployments.
 */
export async function deleteOrphanBlobs(
  { database, blobs }: { database: Database; blobs: Blobs },
  area: string,
  at: Instant,
  signal?: AbortSignal,
): Promise<number> {
  const failed: string[] = []
  let failure = ''
  let consecutiveFailures = 0
  let deleted = 0
  const tryToDelete = async (key: string): Promise<boolean> => {
    signal?.throwIfAborted()
    try {
      await blobs.delete(key)
      consecutiveFailures = 0
      return true
    } catch (error) {
      failed.push(key)
      consecutiveFailures += 1
      failure = `${key}: ${messageOf(error)}`
      return false
    }
  }
  for (;;) {
    const keys = await markForDeletion(database, area, at, { max: batchSize, excluded: failed })
    const removed: string[] = []
    for (const key of keys)
      if (consecutiveFailures < maxConsecutiveFailures && (await tryToDelete(key))) removed.push(key)
    await removeDeleted(database, removed)
    deleted += removed.length
    if (keys.length < batchSize || consecutiveFailures === maxConsecutiveFailures) break
  }
  if (failed.length === 0) return deleted
  await postponeDeletion(database, failed, at)
  throw new Error(`orphan blobs not deleted: ${failed.length}; last failure: ${failure}`)
}
