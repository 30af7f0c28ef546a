/**
 * State that may be lost: texts, counters and replay windows, in memory for one process or in Redis for several. Start
 * with the `Cache` port (cache.ts). domain-cache.ts is the part that a domain can use. `TtlCache` caches look-ups in
 * this process. Depends on the kernel, the database's validity rule and platform/redis.
 */

export type { Cache, WindowName } from './cache.ts'
export { createDomainCache, type DomainCache } from './domain-cache.ts'
export { createMemoryCache } from './memory-cache.ts'
export { createRedisCache } from './redis-cache.ts'
export { createTtlCache } from './ttl-cache.ts'
