import { scriptOf } from '../redis/index.ts'

/**
 * KEYS: counter. ARGV: window in ms. A counter without an end (an aborted write, a persisted key) is given one, and so is one
 * whose end lies further ahead than its window is long: Redis' clock was set back, or a master came that has another.
 */
export const incrementScript = scriptOf(`
local count = redis.call('INCR', KEYS[1])
local remaining = redis.call('PTTL', KEYS[1])
if remaining < 0 or remaining > tonumber(ARGV[1]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  remaining = tonumber(ARGV[1])
end
return {count, remaining}`)

/**
 * KEYS: window. ARGV: ttl in ms. A Redis that is full refuses what takes room, but not once a script has written: so a write
 * that takes room comes before the one that makes some.
 */
export const openWindowScript = scriptOf(`
redis.call('SET', KEYS[1], '')
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'highest', '0')
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1`)

/**
 * KEYS: window. ARGV: sequence, its slot (sequence modulo size), size. A slot holds the last number spent in it, so a
 * number is spent where its slot holds it; numbers that could have been overwritten are below the window.
 */
export const spendScript = scriptOf(`
local highest = tonumber(redis.call('HGET', KEYS[1], 'highest') or nil)
if not highest then return 0 end
local sequence = tonumber(ARGV[1])
if highest - sequence >= tonumber(ARGV[3]) then return 0 end
if redis.call('HGET', KEYS[1], ARGV[2]) == ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], ARGV[2], ARGV[1])
if sequence > highest then redis.call('HSET', KEYS[1], 'highest', ARGV[1]) end
return 1`)
