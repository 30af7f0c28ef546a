import { LRUCache } from 'lru-cache'
import type { Database } from '../../database/index.ts'
import { type Instant, minutes } from '../../kernel/index.ts'
import { recordUse } from './presented-store.ts'
import type { ApiKeyScope } from './store.ts'

/** How exactly a key's last use is known; in between, uses cost no write. */
const precision = minutes(1)
const rememberedKeys = 10_000

export interface LastUse {
  /** Notes a use; writes at most once a minute for each key, beside the request and not before its answer. */
  note(key: ApiKeyScope, clientIp: string, at: Instant): void
  /** Waits for what is being written. */
  settle(): Promise<void>
}

export const createLastUse = (database: Database, onFault: (error: unknown) => void): LastUse => {
  const written = new LRUCache<string, Instant>({ max: rememberedKeys })
  const underway = new Set<Promise<void>>()
  return {
    note: (key, clientIp, at) => {
      const before = written.get(key.id)
      if (before !== undefined && at - before < precision) return
      written.set(key.id, at)
      const writing = recordUse(database, key, clientIp, at)
        .catch(onFault)
        .finally(() => underway.delete(writing))
      underway.add(writing)
    },
    settle: async () => {
      await Promise.all(underway)
    },
  }
}
