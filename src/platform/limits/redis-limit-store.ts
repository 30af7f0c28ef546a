import RedisStore from 'rate-limit-redis'
import { type RedisConnection, RedisUnavailable, type Script, scriptOf } from '../redis/index.ts'
import type { CountInOrder, SharedCounters, StoreFactory } from './limits.ts'

type Commands = Pick<RedisConnection, 'command' | 'script'>

/**
 * KEYS: counters. ARGV: window in ms and limit of each. Counts like rate-limit-redis, which counts one key per command,
 * and stops after the first counter above its limit. Returns the count and TTL of each.
 */
const countInOrderScript = scriptOf(`
local counts = {}
for i, key in ipairs(KEYS) do
  local window = ARGV[2 * i - 1]
  local count = 1
  local remaining = redis.call('PTTL', key)
  if remaining <= 0 then
    redis.call('SET', key, 1, 'PX', window)
    remaining = tonumber(window)
  else
    count = redis.call('INCR', key)
    if remaining > tonumber(window) then
      redis.call('PEXPIRE', key, window)
      remaining = tonumber(window)
    end
  end
  counts[2 * i - 1] = count
  counts[2 * i] = remaining
  if count > tonumber(ARGV[2 * i]) then break end
end
return counts`)

/** In a cluster, a script can use keys of one hash slot only. */
export function createRedisCounters(redis: Commands, { cluster }: { cluster: boolean }): SharedCounters {
  return {
    storeFor: createStoreFactory(redis),
    countInOrder: cluster ? undefined : createCountInOrder(redis),
  }
}

type Reply = boolean | number | string

/**
 * rate-limit-redis loads its scripts once, and would fail forever if Redis were unavailable at that moment. Here,
 * "loading" only records a script, and our connection sends it when it is needed. If the TTL of a counter is longer
 * than its window, Redis's clock was set back or a new master's clock differs. The TTL is then set to the window.
 */
function createStoreFactory(redis: Commands): StoreFactory {
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
  return (name) => new RedisStore({ prefix: prefixOf(name), sendCommand })
}

function replyOf(value: unknown): Reply | Reply[] {
  if (isReply(value)) return value
  if (Array.isArray(value) && value.every(isReply)) return value
  throw new RedisUnavailable(new Error('unexpected reply'))
}

function isReply(value: unknown): value is Reply {
  return ['boolean', 'number', 'string'].includes(typeof value)
}

function prefixOf(name: string): string {
  return `portico:limit:${name}:`
}

function createCountInOrder(redis: Commands): CountInOrder {
  return async (counters) => {
    const keys: string[] = []
    const values: number[] = []
    for (const { name, key, windowMs, limit } of counters) {
      keys.push(keyOf(name, key))
      values.push(windowMs, limit)
    }
    const reply = await redis.script(countInOrderScript, keys, values)
    if (!Array.isArray(reply) || !reply.every(isCount) || reply.length < 2)
      throw new RedisUnavailable(new Error('unexpected reply'))
    const counted: Awaited<ReturnType<CountInOrder>> = []
    for (let index = 0; index + 1 < reply.length; index += 2)
      counted.push({ totalHits: reply[index] ?? 0, resetMs: Math.max(0, reply[index + 1] ?? 0) })
    // A counter without a count would allow the call.
    const last = counters[counted.length - 1]
    const isRefused = last !== undefined && (counted.at(-1)?.totalHits ?? 0) > last.limit
    if (counted.length !== counters.length && !isRefused) throw new RedisUnavailable(new Error('unexpected reply'))
    return counted
  }
}

function keyOf(name: string, key: string): string {
  return `${prefixOf(name)}${key}`
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value)
}
