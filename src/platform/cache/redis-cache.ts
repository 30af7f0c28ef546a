import { z } from 'zod'
import { type RedisConnection, RedisUnavailable, type Script, scriptOf } from '../redis/index.ts'
import type { Cache, WindowName } from './cache.ts'

/**
 * KEYS: counter. ARGV: window in ms. Sets the TTL again if it is missing (after an aborted write or PERSIST) or too
 * long (Redis's clock was set back, or a new master's clock differs).
 */
const incrementScript = scriptOf(`
local count = redis.call('INCR', KEYS[1])
local remaining = redis.call('PTTL', KEYS[1])
if remaining < 0 or remaining > tonumber(ARGV[1]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  remaining = tonumber(ARGV[1])
end
return {count, remaining}`)

/*
 * A group is one hash, so that Redis loses it as a whole, including its epoch. Fields: `epoch`, `joined`, and the
 * member id of each window in use. Ids are longer than the other names.
 */

/** KEYS: group. ARGV: epoch of a new group, maximum number of members, TTL in ms. */
const joinGroupScript = scriptOf(`
local epoch = redis.call('HGET', KEYS[1], 'epoch')
local joined = tonumber(redis.call('HGET', KEYS[1], 'joined') or 0)
if joined >= tonumber(ARGV[2]) then return nil end
if not epoch then
  epoch = ARGV[1]
  redis.call('HSET', KEYS[1], 'epoch', epoch)
end
redis.call('HSET', KEYS[1], 'joined', joined + 1)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return epoch`)

/**
 * KEYS: group. ARGV: epoch, member, sequence, size. A window is `<highest>:<digits>`. Digit n, counted from 1, is 1 if
 * `highest - n + 1` is spent. A closed window is an empty string. The highest number is stored as it was sent, because
 * Lua would round numbers near 2^53 to 14 digits.
 */
const spendScript = scriptOf(`
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return 0 end
local window = redis.call('HGET', KEYS[1], ARGV[2]) or '0:'
local highest, digits = string.match(window, '^(%d+):([01]*)$')
if not highest then return 0 end
local size = tonumber(ARGV[4])
local age = tonumber(highest) - tonumber(ARGV[3])
if age >= size then return 0 end
if age < 0 then
  highest = ARGV[3]
  digits = string.sub('1' .. string.rep('0', math.min(-age, size) - 1) .. digits, 1, size)
else
  local place = age + 1
  if string.sub(digits, place, place) == '1' then return 0 end
  digits = digits .. string.rep('0', place - #digits)
  digits = string.sub(digits, 1, place - 1) .. '1' .. string.sub(digits, place + 1)
end
redis.call('HSET', KEYS[1], ARGV[2], highest .. ':' .. digits)
return 1`)

/** KEYS: group. ARGV: epoch, member. */
const isOpenScript = scriptOf(`
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return 0 end
if redis.call('HGET', KEYS[1], ARGV[2]) == '' then return 0 end
return 1`)

/**
 * KEYS: group. ARGV: epoch, member. A full Redis rejects HSET unless the script has already written. PEXPIRE therefore
 * runs first: it needs no memory and has no effect here.
 */
const closeWindowScript = scriptOf(`
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', KEYS[1], redis.call('PTTL', KEYS[1]))
redis.call('HSET', KEYS[1], ARGV[2], '')
return 1`)

const Text = z.string().nullable()
const Pair = z.tuple([z.number(), z.number()])

/** Each call is one command or script on one key, so it is atomic. */
export function createRedisCache(redis: RedisConnection) {
  const redisKey = (key: string): string => `portico:${key}`
  const runWindowScript = async (script: Script, { group, epoch, member }: WindowName, ...values: number[]) =>
    (await redis.script(script, [redisKey(group)], [epoch, member, ...values])) === 1
  return {
    get: async (key) => parseReply(Text, await redis.command('GET', redisKey(key))) ?? undefined,
    set: async (key, text, ttl) => void (await redis.command('SET', redisKey(key), text, 'PX', String(Math.ceil(ttl)))),
    delete: async (key) => void (await redis.command('DEL', redisKey(key))),
    increment: async (key, window) => {
      const reply = await redis.script(incrementScript, [redisKey(key)], [Math.ceil(window)])
      const [count, remaining] = parseReply(Pair, reply)
      return { count, remaining }
    },
    claim: async (key, ttl) =>
      (await redis.command('SET', redisKey(key), 1, 'NX', 'PX', String(Math.ceil(ttl)))) !== null,
    joinGroup: async (group, { epoch, max, ttl }) =>
      parseReply(Text, await redis.script(joinGroupScript, [redisKey(group)], [epoch, max, Math.ceil(ttl)])) ??
      undefined,
    spend: async (window, sequence, size) =>
      Number.isSafeInteger(sequence) && sequence >= 1 && runWindowScript(spendScript, window, sequence, size),
    isOpen: async (window) => runWindowScript(isOpenScript, window),
    closeWindow: async (window) => void (await runWindowScript(closeWindowScript, window)),
    // The caller closes the connection.
    close: async () => undefined,
  } satisfies Cache
}

function parseReply<T>(schema: z.ZodType<T>, reply: unknown): T {
  const result = schema.safeParse(reply)
  if (!result.success) throw new RedisUnavailable(new Error('unexpected reply'))
  return result.data
}
