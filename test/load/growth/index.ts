import type { Options } from '../options.ts'
import type { Rig } from '../rig/workspace.ts'
import { measureAccounts } from './accounts.ts'
import { measureConnections, measureStreams } from './connections.ts'
import { measureOperations } from './operations.ts'
import { measureReplicas } from './replicas.ts'
import type { Curve } from './table.ts'

export type MeasureGrowth = (rig: Rig, options: Options) => Promise<Curve>

/** What `--growth` can measure. `--scale` measures lists (lists.ts). */
export const growths: Record<string, MeasureGrowth> = {
  operations: measureOperations,
  accounts: measureAccounts,
  connections: measureConnections,
  streams: measureStreams,
  replicas: measureReplicas,
}
