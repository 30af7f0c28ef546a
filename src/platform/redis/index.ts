/**
 * The connection to Redis, one server or a cluster. Start with connection.ts; client.ts configures ioredis. Depends on
 * the kernel and platform/runtime.
 */

export type { TraceCommand } from './client.ts'
export {
  isRedisAway,
  isRedisUnavailable,
  openRedis,
  type RedisConnection,
  RedisUnavailable,
  type Script,
  scriptOf,
} from './connection.ts'
