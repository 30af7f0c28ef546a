import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Cache, createRedisCache } from '../../../src/platform/cache/index.ts'
import { createLimits } from '../../../src/platform/limits/limits.ts'
import { createRedisCounters } from '../../../src/platform/limits/redis-limit-store.ts'
import { isRedisUnavailable, openRedis, type RedisConnection } from '../../../src/platform/redis/index.ts'
import { systemClock } from '../../../src/platform/runtime/index.ts'
import { needsRedis } from '../../harness/needs.ts'
import { fillRedis, startRedis } from '../../harness/redis.ts'

const server = await startRedis(['--maxmemory', '8mb', '--maxmemory-samples', '20'])
afterAll(() => server?.stop())

describe('a full Redis', needsRedis(server), () => {
  let redis: RedisConnection
  let cache: Cache
  beforeEach(async () => {
    await server?.sendRequest('FLUSHALL')
    redis = await openRedis({
      url: server?.url ?? '',
      cluster: false,
      connectTimeoutMs: 20_000,
      commandTimeoutMs: 20_000,
      onError: () => undefined,
      onReady: () => undefined,
      onEvicting: () => undefined,
    })
    cache = createRedisCache(redis)
  })
  afterEach(() => redis.close())
  /** True if Redis was unavailable. */
  const outcome = (work: unknown): Promise<unknown> => Promise.resolve(work).then((value) => value, isRedisUnavailable)

  test('noeviction: writes are unavailable, and state is unchanged afterwards', async () => {
    await server?.sendRequest('CONFIG SET maxmemory-policy noeviction')
    const limits = createLimits(() => 1, systemClock, createRedisCounters(redis, { cluster: false }))
    const limited = () => outcome(limits.spend('test', 'somebody', { limit: 2, windowMs: 60_000 }))
    const options = { epoch: 'one', max: 100, ttl: 60_000 }
    const window = { group: '{s}:windows', epoch: 'one', member: 'a' }
    const closed = { ...window, member: 'closed' }
    await cache.joinGroup(window.group, options)
    expect([await cache.spend(window, 1, 64), await cache.spend(closed, 1, 64)]).toEqual([true, true])
    expect((await cache.increment('count', 60_000)).count).toBe(1)
    expect(await limited()).toMatchObject({ allowed: true, remaining: 1 })

    const freeMemory = await fillRedis(server)
    for (let time = 0; time < 10; time++) {
      expect(await limited()).toBe(true)
      expect(await outcome(cache.increment('count', 60_000))).toBe(true)
      expect(await outcome(cache.increment(`count-${time}`, 60_000))).toBe(true)
      expect(await outcome(cache.joinGroup(`{n${time}}:windows`, options))).toBe(true)
      expect(await outcome(cache.joinGroup(window.group, options))).toBe(true)
      expect(await outcome(cache.spend(window, 2, 64))).toBe(true)
      expect(await outcome(cache.spend({ ...window, member: `b${time}` }, 1, 64))).toBe(true)
    }
    // Rejecting a spent number and closing a window need no memory.
    expect(await cache.spend(window, 1, 64)).toBe(false)
    expect(await cache.isOpen(closed)).toBe(true)
    await cache.closeWindow(closed)
    expect(await cache.isOpen(closed)).toBe(false)
    expect(await outcome(redis.check())).toBe(true)

    await freeMemory()
    await redis.check()
    expect(await redis.command('DBSIZE')).toBe(4)
    expect(await limited()).toMatchObject({ allowed: true, remaining: 0 })
    expect(await limited()).toMatchObject({ allowed: false })
    expect((await cache.increment('count', 60_000)).count).toBe(2)
    expect(await cache.spend(window, 1, 64)).toBe(false)
    expect(await cache.spend(window, 2, 64)).toBe(true)
    expect(await cache.spend(window, 2, 64)).toBe(false)
    expect(await cache.spend(closed, 2, 64)).toBe(false)
    limits.close()
  })

  test('allkeys-lru: no number is spent twice, and a lost window stays closed', async () => {
    await server?.sendRequest('CONFIG SET maxmemory-policy allkeys-lru')
    const windows = Array.from({ length: 60 }, (_, each) => ({ group: `{w${each}}`, epoch: 'one', member: 'a' }))
    const join = (group: string, epoch: string) => cache.joinGroup(group, { epoch, max: 100, ttl: 60_000 })
    for (const { group } of windows) await join(group, 'one')
    const spent = new Map<string, number>()
    for (let round = 1; round <= 40; round++) {
      await server?.sendRequest(`SETRANGE junk:${round} 500000 x`)
      // Every third window is used in each round.
      for (const [index, window] of windows.entries())
        for (const sequence of index % 3 === 0 || round % 20 === 0 ? [round, round, 20] : [])
          if (await cache.spend(window, sequence, 64))
            spent.set(`${window.group} ${sequence}`, (spent.get(`${window.group} ${sequence}`) ?? 0) + 1)
    }
    expect([...spent.values()].every((times) => times === 1)).toBe(true)
    const lost = await Promise.all(
      windows.map(async ({ group }) => (await redis.command('EXISTS', `portico:${group}`)) === 0),
    )
    expect(lost).toContain(true)
    for (const [index, window] of windows.entries()) {
      await join(window.group, 'two')
      expect(await cache.spend(window, 1_000, 64), window.group).toBe(!lost[index])
    }
  })
})
