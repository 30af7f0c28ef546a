import { setTimeout as pause } from 'node:timers/promises'
import type { Caller, Clock, MaybePromise, WorkspaceAccess } from '../../kernel/index.ts'
import { createTtlCache } from '../../platform/cache/index.ts'
import type { Stage } from './call.ts'
import type { WorkspacePort } from './ports.ts'

/** Caches which rights a caller has in a workspace. */
export interface AccessCache {
  /** Like `WorkspacePort.enter`, but returns a cached result without a promise. */
  enter(caller: Caller, workspaceId: string | null): MaybePromise<WorkspaceAccess>
  /** Drops all entries. Resolves when no replica uses older entries any more. */
  invalidate(): Promise<void>
}

const maxEntries = 20_000

/**
 * The TTL if only this process writes to the store. Each change invalidates the cache, so the TTL only matters if an
 * invalidation was missed.
 */
const singleProcessTtlMs = 10_000

/** The key of the default workspace is different from every header value. An empty header names a workspace. */
const keyOf = ({ accountId }: Caller, workspaceId: string | null): string =>
  workspaceId === null ? accountId : `${accountId} ${workspaceId}`

/**
 * Returns a cache in front of `workspaces`, so that most requests need no query. A changed role still applies from the
 * next request on, on every replica. This replica drops its entries. With other replicas (`shared`), the change is
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
 * Returns a stage that also invalidates the cache after operations that can change rights. Failed operations invalidate
 * it too, because they can fail after the change.
 */
export function invalidateAccess(cache: Pick<AccessCache, 'invalidate'>, stage: Stage): Stage {
  return (call) => {
    if (!call.operation.policy.changesRights) return stage(call)
    return Promise.resolve(stage(call)).finally(() => cache.invalidate())
  }
}
