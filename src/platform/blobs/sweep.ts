import type { Instant } from '../../kernel/index.ts'
import type { Blobs } from './blobs.ts'

/** Keys that are asked about at once. */
const batchSize = 200

/** Deletes what was put in a room before an instant and is in no row by now; answers how many blobs. */
export const sweepOrphans = async (
  blobs: Blobs,
  room: string,
  before: Instant,
  keysInUse: (keys: string[]) => Promise<string[]>,
): Promise<number> => {
  let deleted = 0
  const sweep = async (keys: string[]): Promise<void> => {
    const used = new Set(await keysInUse(keys))
    for (const key of keys) {
      if (used.has(key)) continue
      await blobs.delete(key)
      deleted += 1
    }
  }
  let batch: string[] = []
  for await (const key of blobs.olderThan(room, before)) {
    batch.push(key)
    if (batch.length < batchSize) continue
    await sweep(batch)
    batch = []
  }
  if (batch.length > 0) await sweep(batch)
  return deleted
}
