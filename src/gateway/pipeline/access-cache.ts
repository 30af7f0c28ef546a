import { setTimeout as pause } from 'node:timers/promises'
import type { Caller, Clock, MaybePromise, WorkspaceAccess } from '../../kernel/index.ts'
import { createTtlCache } from '../../platform/cache/index.ts'
import type { Stage } from './call.ts'
import type { WorkspacePort } from './ports.ts'

/** Caches which rights a caller has in a workspace. */
export interface AccessCache {
  /** As `WorkspacePort.enter`, without a promise where the result is cached. */
  enter(caller: Caller, workspaceId: string | null): MaybePromise<WorkspaceAccess>
  /** Drops all entries, and resolves when no replica serves older ones any more. */
  invalidate(): Promise<void>
}

const maxEntries = 20_000

/** TTL where only this process writes to the store: each change invalidates the cache, so this only limits a missed one. */
const singleProcessTtlMs = 10_000

/** No header value equals the key of the default workspace: an empty one names a workspace. */
const keyOf = ({ accountId }: Caller, workspaceId: string | null): string =>
  workspaceId === null ? accountId : `${accountId} ${workspaceId}`

/**
 * Returns a cache in front of `workspaces`, so that most requests need no query. A changed role still takes effect with
 * the next request on every replica: this replica drops its entries, and with other replicas (`shared`) the change is
 * acknowledged only after `leaseMs`, when their entries have expired.
 */
export function createAccessCache(
  workspaces: WorkspacePort,
  clock: Clock,
  { leaseMs, shared }: { leaseMs: number; shared: boolean },
): AccessCache {
  const entries = createTtlCache<WorkspaceAccess>(clock, { ms: shared ? leaseMs : singleProcessTtlMs, max: maxEntries })
  return {
    enter: (caller, workspaceId) =>
      entries.read(keyOf(caller, workspaceId), () => workspaces.enter(caller, workspaceId)),
    invalidate: async () => {
      entries.clear()
      if (shared) await pause(leaseMs)
    },
  }
}

/**
 * Returns the stage with the cache invalidated after operations that may change rights. A failed operation invalidates it,
 * too: it may have made its change before it failed.
 */
export function invalidateAccess(cache: Pick<AccessCache, 'invalidate'>, stage: Stage): Stage {
  return (call) => {
    if (!call.operation.policy.changesRights) return stage(call)
    return Promise.resolve(stage(call)).finally(() => cache.invalidate())
  }
}
