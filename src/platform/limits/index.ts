/**
 * Rate limits: `Limits.spend` counts a request against a limit. The counters are express-rate-limit stores, in memory for
 * one process (limits.ts) or in Redis for all replicas (redis-limit-store.ts). Depends on the kernel and platform/redis.
 */

export { createLimits, type Limits, type StoreFactory, scaledLimit } from './limits.ts'
export { createRedisLimitStores } from './redis-limit-store.ts'
