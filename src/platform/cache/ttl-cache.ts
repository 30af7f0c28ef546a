import { LRUCache } from 'lru-cache'
import type { Clock, Instant, MaybePromise } from '../../kernel/index.ts'

/** Caches the results of look-ups for a fixed time. */
export interface TtlCache<T> {
  /** Returns the cached value, synchronously if it is resolved; otherwise the result of `load`. */
  read(key: string, load: () => Promise<T>): MaybePromise<T>
  /** Removes a value, so that the next read loads it again. Call this after the change is committed. */
  invalidate(key: string): void
  clear(): void
}

interface Entry<T> {
  loadedAt: Instant
  pending: Promise<T>
  resolved: { value: T } | null
}

/**
 * Creates a cache. The TTL of a value, in milliseconds, starts when its load starts. A load that is pending when its
 * key is invalidated is not used. Errors are not cached. If there are more than `max` keys, the least recently used one
 * is removed.
 */
export const createTtlCache = <T>(clock: Clock, { ms, max }: { ms: number; max: number }): TtlCache<T> => {
  const entries = new LRUCache<string, Entry<T>>({ max })
  return {
    read: (key, load) => {
      const known = entries.get(key)
      // The age is negative if the clock was set back.
      const age = known ? clock.now() - known.loadedAt : -1
      if (known && age >= 0 && age < ms) return known.resolved ? known.resolved.value : known.pending
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
