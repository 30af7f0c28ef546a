import { z } from 'zod'
import { type RedisConnection, RedisUnavailable } from '../redis/index.ts'
import type { Cache } from './cache.ts'
import { incrementScript, openWindowScript, spendScript } from './redis-scripts.ts'

const Text = z.string().nullable()
const Pair = z.tuple([z.number(), z.number()])

const parsed = <T>(schema: z.ZodType<T>, answer: unknown): T => {
  const result = schema.safeParse(answer)
  if (!result.success) throw new RedisUnavailable(new Error('an answer of an unknown form'))
  return result.data
}

/** The cache that all replicas share. Each call is one command or one script over one key, so it is atomic. */
export const createRedisCache = (redis: RedisConnection) => {
  const named = (key: string): string => `portico:${key}`
  return {
    get: async (key) => parsed(Text, await redis.command('GET', named(key))) ?? undefined,
    set: async (key, value, ttl) => void (await redis.command('SET', named(key), value, 'PX', Math.ceil(ttl))),
    delete: async (key) => void (await redis.command('DEL', named(key))),
    increment: async (key, window) => {
      const answer = await redis.script(incrementScript, [named(key)], [Math.ceil(window)])
      const [count, remaining] = parsed(Pair, answer)
      return { count, remaining }
    },
    openWindow: async (key, ttl) => void (await redis.script(openWindowScript, [named(key)], [Math.ceil(ttl)])),
    spend: async (key, sequence, size) => {
      if (!Number.isSafeInteger(sequence) || sequence < 1) return false
      return (await redis.script(spendScript, [named(key)], [sequence, sequence % size, size])) === 1
    },
    // The connection belongs to whoever opened it.
    close: async () => undefined,
  } satisfies Cache
}
