import type { WithoutTimeouts } from '../../database/index.ts'
import { type Clock, minutes } from '../../kernel/index.ts'
import type { JobKind } from '../jobs/index.ts'
import { partitionedTables } from './functions.ts'
import { extendPartitions } from './store.ts'

interface Ports {
  withoutTimeouts: WithoutTimeouts
  clock: Clock
}

/** Adds partitions ahead, on one replica at a time. If it fails, rows collect in the last partition, and no insert fails. */
export function partitionJob({ withoutTimeouts, clock }: Ports): JobKind {
  return {
    name: 'partitions.extend',
    attempts: 1,
    // The alert on failing jobs needs a failure every 15 minutes.
    everyMs: minutes(10),
    isLong: true,
    work: (_payload, { signal }) =>
      withoutTimeouts(async (database) => {
        for (const table of partitionedTables) await extendPartitions(database, table, clock.now(), signal)
      }, signal),
  }
}
