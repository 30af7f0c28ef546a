export type { Cache, WindowName } from './cache.ts'
export { createMemoryCache } from './memory-cache.ts'
export { createRedisCache } from './redis-cache.ts'
export { createTtlCache } from './ttl-cache.ts'
