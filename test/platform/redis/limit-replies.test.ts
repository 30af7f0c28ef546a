import { expect, test } from 'vitest'
import { createRedisCounters } from '../../../src/platform/limits/redis-limit-store.ts'
import { RedisUnavailable } from '../../../src/platform/redis/index.ts'

const counters = ['address', 'general-account'].map((name) => ({ name, key: 'k', windowMs: 60_000, limit: 3 }))

function countWith(reply: unknown) {
  const redis = { script: async () => reply, command: async () => null }
  return createRedisCounters(redis, { cluster: false }).countInOrder?.(counters)
}

test('a count for each counter', async () => {
  expect(await countWith([1, 60_000, 2, 30_000])).toMatchObject([{ totalHits: 1 }, { totalHits: 2 }])
})

test('no count after a counter above its limit', async () => {
  expect(await countWith([4, 60_000])).toMatchObject([{ totalHits: 4 }])
})

test.each([[[]], [[1, 60_000]], [[1, 60_000, 2]], [[1, 60_000, 'x', 1]], ['OK'], [null]])(
  '%j: a reply without a count of each counter allows nothing',
  async (reply) => {
    await expect(countWith(reply)).rejects.toThrow(RedisUnavailable)
  },
)
