import type { Cache, Count } from './cache.ts'

/**
 * The values and counters of one domain, shared by all replicas. They may be lost at any time. Methods reject if Redis
 * is unavailable, and the request gets 503.
 */
export interface DomainCache {
  /** Undefined if the text is missing, expired or lost. */
  get(key: string): Promise<string | undefined>
  /** Stores a text for `ttlMs` milliseconds. Replaces the previous text and its time. */
  set(key: string, text: string, ttlMs: number): Promise<void>
  delete(key: string): Promise<void>
  /** Counts in a fixed window of `windowMs` milliseconds, which opens with its first count. */
  increment(key: string, windowMs: number): Promise<Count>
}

export function createDomainCache(cache: Cache, domain: string): DomainCache {
  return {
    get: (key) => cache.get(`${domain}:value:${key}`),
    set: (key, text, ttlMs) => cache.set(`${domain}:value:${key}`, text, ttlMs),
    delete: (key) => cache.delete(`${domain}:value:${key}`),
    increment: (key, windowMs) => cache.increment(`${domain}:count:${key}`, windowMs),
  }
}
