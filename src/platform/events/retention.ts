import type { Database } from '../../database/index.ts'
import { addMs, type Clock, hours, minutes, untilNotFull } from '../../kernel/index.ts'
import type { JobKind } from '../jobs/index.ts'
import { dropExpiredPartitions } from './partition-store.ts'
import { deleteEvents, deleteFailed, retryFailed, setAsideUnknown } from './store.ts'

interface Ports {
  database: Database
  clock: Clock
  retentionMs: number
  /** The sources that this process knows. */
  sources: readonly string[]
  /** Called if changes were deleted that never became events. */
  onLost(count: number): void
}

const batchSize = 1_000

/** During a rolling upgrade, a newer replica may know the source. */
const unknownMs = hours(1)
const unknown = 'no process knows this source: its extension was removed, or its domain is off'

/** Deletes expired events, and tries again what was set aside. */
export function expiredEventCleanup({ database, clock, retentionMs, sources, onLost }: Ports): JobKind {
  return {
    name: 'events.deleteExpired',
    attempts: 1,
    // An older replica sets aside what only a newer one knows, so this must not wait long after an upgrade.
    everyMs: minutes(10),
    work: async (_, { signal }) => {
      const before = addMs(clock.now(), -retentionMs)
      await dropExpiredPartitions(database, before)
      await untilNotFull(batchSize, signal, (limit) => deleteEvents(database, before, limit))
      let lost = 0
      await untilNotFull(batchSize, signal, async (limit) => {
        const count = await deleteFailed(database, before, limit)
        lost += count
        return count
      })
      if (lost > 0) onLost(lost)
      await setAsideUnknown(database, { sources, before: addMs(clock.now(), -unknownMs), failure: unknown })
      await retryFailed(database, sources, batchSize)
    },
  }
}
