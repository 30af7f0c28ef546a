import { setTimeout as pause } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Clock, Instant, WorkspaceAccess } from '../kernel/index.ts'
import type { WorkspacePort } from './ports.ts'

export interface AccessMemory extends WorkspacePort {
  /** To be awaited after whatever may have changed somebody's rights, before it is answered. */
  changed(): Promise<void>
}

interface Answer {
  access: Promise<WorkspaceAccess>
  askedAt: Instant
}

const remembered = 50_000

/**
 * Who may do what where, remembered for a lease of a fraction of a second, so that most requests ask the store nothing.
 * A changed role counts at the next request all the same, on every replica: this one forgets at once, and where others
 * may exist (`shared`) the change is answered only when every lease that was given before it has run out.
 */
export const rememberAccess = (
  workspaces: WorkspacePort,
  clock: Clock,
  { leaseMs, shared }: { leaseMs: number; shared: boolean },
): AccessMemory => {
  const answers = new LRUCache<string, Answer>({ max: remembered })
  return {
    enter: (caller, workspaceId) => {
      const key = `${caller.accountId} ${workspaceId ?? ''}`
      const known = answers.get(key)
      const age = known ? clock.now() - known.askedAt : -1
      if (known && age >= 0 && age < leaseMs) return known.access
      const answer = { access: workspaces.enter(caller, workspaceId), askedAt: clock.now() }
      answers.set(key, answer)
      answer.access.catch(() => answers.get(key) === answer && answers.delete(key))
      return answer.access
    },
    changed: async () => {
      answers.clear()
      if (shared) await pause(leaseMs)
    },
  }
}
