import { LRUCache } from 'lru-cache'
import type { Clock, Instant, MaybePromise } from '../../kernel/index.ts'

export interface TtlCache<T> {
  /** Synchronous if the value is resolved. `maxAgeMs` replaces the TTL of the cache. */
  read(key: string, load: () => Promise<T>, maxAgeMs?: number): MaybePromise<T>
  /** Call this after the change is committed. */
  invalidate(key: string): void
  clear(): void
}

interface Entry<T> {
  loadedAt: Instant
  pending: Promise<T>
  resolved: { value: T } | null
}

/**
 * The TTL, in milliseconds, starts when a load starts. Errors are not cached, nor is a load during which its key is
 * invalidated.
 */
export function createTtlCache<T>(clock: Clock, { ms, max }: { ms: number; max: number }): TtlCache<T> {
  const entries = new LRUCache<string, Entry<T>>({ max })
  return {
    read: (key, load, maxAgeMs = ms) => {
      const known = entries.get(key)
      // The age is negative if the clock was set back.
      const age = known ? clock.now() - known.loadedAt : -1
      if (known && age >= 0 && age < maxAgeMs) return known.resolved ? known.resolved.value : known.pending
      const entry: Entry<T> = { loadedAt: clock.now(), pending: load(), resolved: null }
      entries.set(key, entry)
      entry.pending.then(
        (value) => {
          entry.resolved = { value }
        },
        () => entries.get(key) === entry && entries.delete(key),
      )
      return entry.pending
    },
    invalidate: (key) => void entries.delete(key),
    clear: () => entries.clear(),
  }
}
