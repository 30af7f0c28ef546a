/**
 * The connection to Redis, one server or a cluster. Commands fail fast: nothing is queued or sent twice, and every
 * failure is a `RedisUnavailable`. client.ts configures ioredis; script.ts runs Lua scripts by their SHA-1.
 */

export { openRedis, type RedisConnection } from './connection.ts'
export { isRedisUnavailable, RedisUnavailable } from './errors.ts'
export { type Script, scriptOf } from './script.ts'
