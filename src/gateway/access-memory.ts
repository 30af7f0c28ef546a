import { setTimeout as pause } from 'node:timers/promises'
import type { Caller, Clock, MaybePromise, WorkspaceAccess } from '../kernel/index.ts'
import { createTtlCache } from '../platform/cache/index.ts'
import type { WorkspacePort } from './ports.ts'

export interface AccessMemory {
  /** As WorkspacePort's, and at once where it is remembered. */
  enter(caller: Caller, workspaceId: string | null): MaybePromise<WorkspaceAccess>
  /** To be awaited after whatever may have changed somebody's rights, before it is answered. */
  changed(): Promise<void>
}

const remembered = 20_000

/** No header can spell the key of the default workspace: an empty one names another. */
const keyOf = ({ accountId }: Caller, workspaceId: string | null): string =>
  workspaceId === null ? accountId : `${accountId} ${workspaceId}`

/** Where no other process writes to the store, every change of rights is noticed at once; this bounds what one missed would cost. */
const aloneMs = 10_000

/**
 * Who may do what where, remembered for a lease, so that most requests ask the store nothing. A changed role counts at the
 * next request all the same, on every replica: this one forgets at once, and where others may exist (`shared`) the lease
 * is a fraction of a second, and the change is answered only when every one that was given before it has run out.
 */
export const rememberAccess = (
  workspaces: WorkspacePort,
  clock: Clock,
  { leaseMs, shared }: { leaseMs: number; shared: boolean },
): AccessMemory => {
  const accesses = createTtlCache<WorkspaceAccess>(clock, { ms: shared ? leaseMs : aloneMs, max: remembered })
  return {
    enter: (caller, workspaceId) =>
      accesses.read(keyOf(caller, workspaceId), () => workspaces.enter(caller, workspaceId)),
    changed: async () => {
      accesses.forgetAll()
      if (shared) await pause(leaseMs)
    },
  }
}
