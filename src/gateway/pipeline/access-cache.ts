import { setTimeout as pause } from 'node:timers/promises'
import type { Caller, Clock, MaybePromise, WorkspaceAccess, WorkspaceId } from '../../kernel/index.ts'
import { createTtlCache } from '../../platform/cache/index.ts'
import type { Stage } from './call.ts'
import type { WorkspacePort } from './ports.ts'

export interface AccessCache extends Pick<WorkspacePort, 'identify'> {
  /** Like `WorkspacePort.enter`, but returns a cached result without a promise. */
  enter(caller: Caller, workspaceId: string | null): MaybePromise<WorkspaceAccess>
  stay(caller: Caller, workspaceId: WorkspaceId): MaybePromise<WorkspaceAccess>
  /** Resolves once no replica uses older entries. */
  invalidate(): Promise<void>
}

const maxEntries = 20_000

/**
 * Once the request that changes a role has its response, every replica uses the new role. With `shared`, that response
 * waits for the lease, until the cached entries of the other replicas have expired.
 */
export function createAccessCache(
  workspaces: WorkspacePort,
  clock: Clock,
  lease: { ms: number; shared: boolean },
): AccessCache {
  const entries = createTtlCache<WorkspaceAccess>(clock, { ms: lease.ms, max: maxEntries })
  return {
    enter: (caller, workspaceId) =>
      entries.read(keyOf(caller, workspaceId), () => workspaces.enter(caller, workspaceId)),
    stay: (caller, workspaceId) => entries.read(keyOf(caller, workspaceId), () => workspaces.stay(caller, workspaceId)),
    // Not cached: only operations that end a membership need it.
    identify: (caller, workspaceId) => workspaces.identify(caller, workspaceId),
    invalidate: async () => {
      entries.clear()
      if (lease.shared) await pause(lease.ms)
    },
  }
}

/**
 * Failed operations also invalidate the cache, because they can fail after the change. Anybody can make an anonymous
 * operation fail, so only its success does.
 */
export function invalidateAccess(cache: Pick<AccessCache, 'invalidate'>, stage: Stage): Stage {
  return (call) => {
    const { changesRights, caller } = call.operation.policy
    if (!changesRights) return stage(call)
    const invalidate = () => cache.invalidate()
    const done = Promise.resolve(stage(call))
    return caller === 'anonymous' ? done.then(invalidate) : done.finally(invalidate)
  }
}

/**
 * No header value produces the key of the default workspace. An empty header counts as a workspace id. Sessions of an
 * account differ in what is withheld from them.
 */
function keyOf({ accountId, withheldByWorkspaces: withheld }: Caller, workspaceId: string | null): string {
  const codes = withheld === 'all' ? withheld : withheld && [...withheld].join()
  const account = codes === undefined ? accountId : `${codes} ${accountId}`
  return workspaceId === null ? account : `${account} ${workspaceId}`
}
