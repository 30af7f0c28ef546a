export type { Cache, WindowName } from './cache.ts'
export { createLease } from './lease.ts'
export { createMemoryCache } from './memory.ts'
export { createRedisCache } from './redis.ts'
