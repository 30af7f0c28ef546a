export { openRedis, type RedisConnection } from './connection.ts'
export { RedisUnavailable, redisFault } from './fault.ts'
export { type Script, scriptOf } from './script.ts'
