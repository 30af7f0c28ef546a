import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createRedisCache } from '../../../src/platform/cache/index.ts'
import { emptyWindow, spendIn } from '../../../src/platform/cache/memory-cache.ts'
import { openRedis, type RedisConnection } from '../../../src/platform/redis/index.ts'
import { needsRedis } from '../../harness/needs.ts'
import { startRedis } from '../../harness/redis.ts'
import { startRedisCluster } from '../../harness/redis-cluster.ts'

const server = await startRedis()
const masters = await startRedisCluster()
afterAll(async () => {
  for (const node of [server, ...masters]) await node?.stop()
})

function open(url: string, cluster: boolean): Promise<RedisConnection> {
  return openRedis({
    ...{ url, cluster, connectTimeoutMs: 20_000, commandTimeoutMs: 20_000 },
    onError: () => undefined,
    onReady: () => undefined,
    onEvicting: () => undefined,
  })
}

describe.each([
  ['one server', server ? [server] : [], false],
  ['a cluster of three masters', masters, true],
] as const)('replay windows in Redis, %s', needsRedis(server), (_, nodes, cluster) => {
  let connections: RedisConnection[]
  beforeAll(async () => {
    const [url = '', last = url] = [nodes.at(0)?.url, nodes.at(-1)?.url]
    connections = [await open(url, cluster), await open(last, cluster)]
  })
  beforeEach(() => Promise.all(nodes.map((node) => node.sendRequest('FLUSHALL'))))
  afterAll(async () => {
    for (const each of connections ?? []) await each.close()
  })
  const one = () => connections[0] as RedisConnection
  const other = () => connections[1] as RedisConnection

  const group = '{g}:windows'
  const join = (cache = createRedisCache(one()), more: object = {}) =>
    cache.joinGroup(group, { epoch: 'one', max: 10, ttl: 10_000, ...more })
  const window = { group, epoch: 'one', member: 'a' }

  test('spend: each number once, with the same results as in memory', async () => {
    const cache = createRedisCache(one())
    const size = 16
    expect(await cache.spend(window, 1, size)).toBe(false)
    expect(await join()).toBe('one')
    let model = emptyWindow
    let seed = 7
    for (let step = 0; step < 300; step++) {
      seed = (seed * 48_271) % 2_147_483_647
      const number = (seed % 60) - 2 + Math.floor(step / 4)
      const after = spendIn(model, number, size)
      expect(await cache.spend(window, number, size), `step ${step}: ${number}`).toBe(after !== undefined)
      model = after ?? model
    }
    for (const number of [0, 0.5, Number.NaN, 2 ** 53]) expect(await cache.spend(window, number, size)).toBe(false)
    const parallel = [one(), other(), one(), other()].map((each) =>
      createRedisCache(each).spend({ ...window, member: 'b' }, 2 ** 53 - 1, 7),
    )
    expect((await Promise.all(parallel)).filter(Boolean)).toHaveLength(1)
    const nearby = [2 ** 53 - 2, 2 ** 53 - 1, 2 ** 53 - 2, 2 ** 53 - 7, 2 ** 53 - 8]
    const spent: boolean[] = []
    for (const number of nearby) spent.push(await cache.spend({ ...window, member: 'b' }, number, 7))
    expect(spent).toEqual([true, false, false, true, false])
  })

  test('claim: one of parallel claims on all connections, and none once Redis is away', async () => {
    const caches = [one(), other(), one(), other()].map((each) => createRedisCache(each))
    const claim = (key: string, ttl: number) => Promise.all(caches.map(async (cache) => cache.claim(key, ttl)))
    expect((await claim('proof:a', 60_000)).filter(Boolean)).toHaveLength(1)
    expect((await claim('proof:a', 60_000)).filter(Boolean)).toHaveLength(0)
    expect((await claim('proof:b', 60_000)).filter(Boolean)).toHaveLength(1)
    const closed = await open(nodes[0]?.url ?? '', cluster)
    await closed.close()
    await expect(createRedisCache(closed).claim('proof:c', 60_000)).rejects.toThrow('Redis')
  })

  test('a group expires a TTL after its latest join; its windows stay closed afterwards', async () => {
    const cache = createRedisCache(one())
    await join(cache, { ttl: 100 })
    expect(await join(cache, { ttl: 300, epoch: 'two' })).toBe('one')
    await pause(150)
    expect([await cache.isOpen(window), await cache.spend(window, 1, 16)]).toEqual([true, true])
    await expect.poll(() => cache.isOpen(window)).toBe(false)
    expect(await join(cache, { epoch: 'two' })).toBe('two')
    expect([await cache.isOpen(window), await cache.spend(window, 1, 16)]).toEqual([false, false])
    expect(await cache.isOpen({ ...window, epoch: 'two' })).toBe(true)
  })

  test('closeWindow: closed for every replica, also before its first number', async () => {
    const [cache, otherReplica] = [createRedisCache(one()), createRedisCache(other())]
    await join()
    await cache.spend(window, 1, 16)
    const unused = { ...window, member: 'unused' }
    for (const each of [window, unused]) {
      await cache.closeWindow({ ...each, epoch: 'two' })
      expect(await otherReplica.isOpen(each)).toBe(true)
      await cache.closeWindow(each)
      expect([await otherReplica.isOpen(each), await otherReplica.spend(each, 2, 16)]).toEqual([false, false])
    }
    expect(await one().command('PTTL', `portico:${group}`)).toBeGreaterThan(0)
  })

  test('memory: none per join, and at most `size` digits per window', async () => {
    const cache = createRedisCache(one())
    const joined = await Promise.all(Array.from({ length: 12 }, () => join()))
    expect(joined.filter((epoch) => epoch === 'one')).toHaveLength(10)
    expect(joined.filter((epoch) => epoch === undefined)).toHaveLength(2)
    expect(await one().command('HLEN', `portico:${group}`)).toBe(2)
    for (let number = 1; number <= 40; number++) expect(await cache.spend(window, number, 16)).toBe(true)
    expect(await one().command('HGET', `portico:${group}`, 'a')).toBe(`40:${'1'.repeat(16)}`)
  })
})
