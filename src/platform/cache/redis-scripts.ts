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

/*
 * A group of replay windows is one hash, so that Redis can lose a group only as a whole, its epoch included. Fields:
 * `epoch`, `joined`, and for each window in use its member's id, which no other field has the length of.
 */

/** KEYS: group. ARGV: epoch of a new group, maximum number of members, TTL in ms. */
export const joinGroupScript = scriptOf(`
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
 * KEYS: group. ARGV: epoch, member, sequence, size. A window is `<highest>:<digits>`: the digit at place n is 1 where
 * `highest - n + 1` is spent, and missing digits are 0. A closed window is empty. Numbers reach 2^53, which Lua would
 * print with 14 digits, so the highest one is kept as it was sent.
 */
export const spendScript = scriptOf(`
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
export const isOpenScript = scriptOf(`
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return 0 end
if redis.call('HGET', KEYS[1], ARGV[2]) == '' then return 0 end
return 1`)

/**
 * KEYS: group. ARGV: epoch, member. A full Redis refuses HSET unless the script has written before, so PEXPIRE, which
 * takes no room and changes nothing here, comes first.
 */
export const closeWindowScript = scriptOf(`
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', KEYS[1], redis.call('PTTL', KEYS[1]))
redis.call('HSET', KEYS[1], ARGV[2], '')
return 1`)
