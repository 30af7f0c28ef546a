import type { Database } from '../../database/index.ts'
import { addMs, type Clock, hours, untilNotFull } from '../../kernel/index.ts'
import type { JobKind } from '../jobs/index.ts'
import { deleteEvents, deleteReactions } from './store.ts'

interface Ports {
  database: Database
  clock: Clock
  retentionMs: number
}

const batchSize = 1_000

export function expiredEventCleanup({ database, clock, retentionMs }: Ports): JobKind {
  return {
    name: 'events.deleteExpired',
    attempts: 1,
    everyMs: hours(1),
    work: async (_, { signal }) => {
      const before = addMs(clock.now(), -retentionMs)
      await untilNotFull(batchSize, signal, (limit) => deleteEvents(database, before, limit))
      await deleteReactions(database, before)
    },
  }
}
