export type { Cache, Count } from './cache.ts'
export { createMemoryCache } from './memory.ts'
export { createRedisCache } from './redis.ts'
export { emptyWindow, type ReplayWindow, spendIn } from './replay-window.ts'
