/**
 * The connection to Redis, one server or a cluster. Commands fail fast: nothing is queued or sent twice, and every
 * failure is a `RedisUnavailable`. client.ts configures ioredis; script.ts runs Lua scripts by their SHA-1.
 */

export {
  isRedisUnavailable,
  openRedis,
  type RedisConnection,
  RedisUnavailable,
  type Script,
  scriptOf,
} from './connection.ts'
