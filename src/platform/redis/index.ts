/**
 * The connection to Redis, one server or a cluster. A command is never queued and never sent twice: it fails
 * immediately if there is no connection. Every failure is a `RedisUnavailable`. Start with connection.ts, which also
 * runs Lua scripts by their SHA-1; client.ts configures ioredis. Depends on the kernel and platform/runtime.
 */

export {
  isRedisUnavailable,
  openRedis,
  type RedisConnection,
  RedisUnavailable,
  type Script,
  scriptOf,
} from './connection.ts'
