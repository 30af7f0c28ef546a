import type { Database } from '../../database/index.ts'
import { type Instant, messageOf } from '../../kernel/index.ts'
import type { Blobs } from './blobs.ts'
import { markForDeletion, postponeDeletion, removeDeleted } from './orphan-store.ts'

const batchSize = 200
/** So many failures in a row are the store's and not the bytes': each of the others might take its whole time as well. */
const maxConsecutiveFailures = 10

/**
 * Deletes the bytes of a room that no row has named in time; answers how many. What cannot be deleted holds up nothing
 * else: it is tried again by the next sweep, after all others, and this one fails in the end. The store itself is not
 * searched: it may hold millions, and what another deployment has put there is none of ours.
 */
export const deleteOrphanBlobs = async (
  { database, blobs }: { database: Database; blobs: Blobs },
  room: string,
  at: Instant,
  signal?: AbortSignal,
): Promise<number> => {
  const kept: string[] = []
  let failure = ''
  let inARow = 0
  let deleted = 0
  const tryToDelete = async (key: string): Promise<boolean> => {
    signal?.throwIfAborted()
    try {
      await blobs.delete(key)
      inARow = 0
      return true
    } catch (error) {
      kept.push(key)
      inARow += 1
      failure = `${key}: ${messageOf(error)}`
      return false
    }
  }
  for (;;) {
    const keys = await markForDeletion(database, room, at, { most: batchSize, besides: kept })
    const gone: string[] = []
    for (const key of keys) if (inARow < maxConsecutiveFailures && (await tryToDelete(key))) gone.push(key)
    await removeDeleted(database, gone)
    deleted += gone.length
    if (keys.length < batchSize || inARow === maxConsecutiveFailures) break
  }
  if (kept.length === 0) return deleted
  await postponeDeletion(database, kept, at)
  throw new Error(`of the bytes that no row names ${kept.length} could not be deleted, ${failure}`)
}
