import type { Instant } from '../../kernel/index.ts'
import type { Database } from '../database/index.ts'
import type { Blobs } from './blobs.ts'
import { doomBlobs, forgetDoomed } from './unnamed-store.ts'

const batchSize = 200

/**
 * Deletes the bytes of a room that no row has named in time; answers how many. The store itself is not searched: it may
 * hold millions, and what another deployment has put there is none of ours.
 */
export const sweepUnnamed = async (
  { database, blobs }: { database: Database; blobs: Blobs },
  room: string,
  at: Instant,
): Promise<number> => {
  let deleted = 0
  for (;;) {
    const keys = await doomBlobs(database, room, at, batchSize)
    for (const key of keys) await blobs.delete(key)
    await forgetDoomed(database, keys)
    deleted += keys.length
    if (keys.length < batchSize) return deleted
  }
}
