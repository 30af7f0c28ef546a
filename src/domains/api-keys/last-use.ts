import { LRUCache } from 'lru-cache'
import { type Instant, minutes } from '../../kernel/index.ts'

/** How exactly a key's last use is known; in between, uses cost no write. */
const precision = minutes(1)
const rememberedKeys = 10_000

export interface LastUse<Scope> {
  /** Notes a use; writes at most once a minute for each key, beside the request and not before its answer. */
  note(id: string, scope: Scope, clientIp: string, at: Instant): void
  /** Waits for what is being written. */
  settle(): Promise<void>
}

export const createLastUse = <Scope>(
  write: (scope: Scope, clientIp: string, at: Instant) => Promise<void>,
  onFault: (error: unknown) => void,
): LastUse<Scope> => {
  const written = new LRUCache<string, Instant>({ max: rememberedKeys })
  const underway = new Set<Promise<void>>()
  return {
    note: (id, scope, clientIp, at) => {
      const before = written.get(id)
      if (before !== undefined && at - before < precision) return
      written.set(id, at)
      const writing = write(scope, clientIp, at)
        .catch(onFault)
        .finally(() => underway.delete(writing))
      underway.add(writing)
    },
    settle: async () => {
      await Promise.all(underway)
    },
  }
}
