/**
 * Rate limits. Start with `Limits.spend` in limits.ts. The counters are express-rate-limit stores, in memory for one
 * process or in Redis for all replicas (redis-limit-store.ts). Depends on the kernel and platform/redis.
 */

export { createDomainLimits, type DomainLimits } from './domain-limits.ts'
export { createLimits, type Limits, networkKey, type SharedCounters, scaledLimit } from './limits.ts'
export { createRedisCounters } from './redis-limit-store.ts'
