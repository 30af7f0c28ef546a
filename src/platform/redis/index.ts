export { openRedis, type RedisConnection } from './connection.ts'
export { isRedisUnavailable, RedisUnavailable } from './errors.ts'
export { type Script, scriptOf } from './script.ts'
