import type { WithoutTimeouts } from '../../database/index.ts'
import { type Clock, hours } from '../../kernel/index.ts'
import type { JobKind } from '../jobs/index.ts'
import { partitionedTables } from './schema.ts'
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
    everyMs: hours(1),
    isLong: true,
    work: (_payload, { signal }) =>
      withoutTimeouts(async (database) => {
        for (const table of partitionedTables) await extendPartitions(database, table, clock.now(), signal)
      }, signal),
  }
}
