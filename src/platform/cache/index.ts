/**
 * State that may be lost: counters and replay windows behind the `Cache` port (cache.ts), in memory for one process or in
 * Redis for several. `TtlCache` is separate: it caches the results of look-ups in this process for a short time. Depends on
 * the kernel, the database's validity rule and platform/redis.
 */

export type { Cache, WindowName } from './cache.ts'
export { createMemoryCache } from './memory-cache.ts'
export { createRedisCache } from './redis-cache.ts'
export { createTtlCache } from './ttl-cache.ts'
