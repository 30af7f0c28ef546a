import RedisStore from 'rate-limit-redis'
import { type RedisConnection, RedisUnavailable, type Script, scriptOf } from '../redis/index.ts'
import type { StoreFactory } from './limits.ts'

type Reply = boolean | number | string

const isReply = (value: unknown): value is Reply => ['boolean', 'number', 'string'].includes(typeof value)

const replyOf = (value: unknown): Reply | Reply[] => {
  if (isReply(value)) return value
  if (Array.isArray(value) && value.every(isReply)) return value
  throw new RedisUnavailable(new Error('unexpected reply'))
}

/**
 * Creates limit stores on rate-limit-redis that all replicas share. That package loads its scripts once, and would fail
 * forever if Redis were unavailable at that moment. So "loading" only records a script, and our connection sends it
 * when it is needed. Each script uses one key, so it works in a cluster. If the TTL of a counter is longer than its
 * window, it is set to the window: Redis's clock was set back, or a new master has another clock.
 */
export const createRedisLimitStores = (redis: RedisConnection): StoreFactory => {
  const scripts = new Map<string, Script>()
  const sendCommand = async (...[name = '', ...rest]: string[]): Promise<Reply | Reply[]> => {
    if (name === 'SCRIPT') {
      const script = scriptOf(rest[1] ?? '')
      scripts.set(script.sha, script)
      return script.sha
    }
    if (name !== 'EVALSHA') return replyOf(await redis.command(name, ...rest))
    const [sha = '', count = '', ...values] = rest
    const script = scripts.get(sha)
    if (!script) throw new RedisUnavailable(new Error('an unknown script'))
    const counted = replyOf(await redis.script(script, values.slice(0, Number(count)), values.slice(Number(count))))
    const [key = '', windowMs] = values
    if (windowMs === undefined || !Array.isArray(counted) || Number(counted[1]) <= Number(windowMs)) return counted
    await redis.command('PEXPIRE', key, windowMs)
    return [counted[0] ?? 0, windowMs]
  }
  return (name) => new RedisStore({ prefix: `portico:limit:${name}:`, sendCommand })
}
