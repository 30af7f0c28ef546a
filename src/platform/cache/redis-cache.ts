import { z } from 'zod'
import { type RedisConnection, RedisUnavailable, type Script } from '../redis/index.ts'
import type { Cache, WindowName } from './cache.ts'
import { closeWindowScript, incrementScript, isOpenScript, joinGroupScript, spendScript } from './redis-scripts.ts'

const Text = z.string().nullable()
const Pair = z.tuple([z.number(), z.number()])

const parseReply = <T>(schema: z.ZodType<T>, answer: unknown): T => {
  const result = schema.safeParse(answer)
  if (!result.success) throw new RedisUnavailable(new Error('an answer of an unknown form'))
  return result.data
}

/** The cache shared by all replicas. Each call is one command or one script on one key, so it is atomic. */
export const createRedisCache = (redis: RedisConnection) => {
  const redisKey = (key: string): string => `portico:${key}`
  const runWindowScript = async (script: Script, { group, epoch, member }: WindowName, ...values: number[]) =>
    (await redis.script(script, [redisKey(group)], [epoch, member, ...values])) === 1
  return {
    increment: async (key, window) => {
      const answer = await redis.script(incrementScript, [redisKey(key)], [Math.ceil(window)])
      const [count, remaining] = parseReply(Pair, answer)
      return { count, remaining }
    },
    joinGroup: async (group, { epoch, max, ttl }) =>
      parseReply(Text, await redis.script(joinGroupScript, [redisKey(group)], [epoch, max, Math.ceil(ttl)])) ?? undefined,
    spend: async (window, sequence, size) =>
      Number.isSafeInteger(sequence) && sequence >= 1 && runWindowScript(spendScript, window, sequence, size),
    isOpen: async (window) => runWindowScript(isOpenScript, window),
    closeWindow: async (window) => void (await runWindowScript(closeWindowScript, window)),
    // The caller owns the connection.
    close: async () => undefined,
  } satisfies Cache
}
