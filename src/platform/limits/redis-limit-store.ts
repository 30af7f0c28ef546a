import RedisStore from 'rate-limit-redis'
import { type RedisConnection, RedisUnavailable, type Script, scriptOf } from '../redis/index.ts'
import type { StoreFactory } from './limits.ts'

type Reply = boolean | number | string

const isReply = (value: unknown): value is Reply => ['boolean', 'number', 'string'].includes(typeof value)

const replyOf = (value: unknown): Reply | Reply[] => {
  if (isReply(value)) return value
  if (Array.isArray(value) && value.every(isReply)) return value
  throw new RedisUnavailable(new Error('an answer of an unknown form'))
}

/**
 * rate-limit-redis counts for all replicas. It would load its scripts once, at the first use, and be useless for good
 * had Redis not been there just then; so loading only remembers them, and our connection sends them when they are
 * needed. One key a script, hence safe in a cluster. A window that lies further ahead than it is long was opened before Redis'
 * clock was set back, or by a master with another one, and ends after its own time.
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
