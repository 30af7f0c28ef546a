import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createRedisCache } from '../../../src/platform/cache/index.ts'
import { createLimits } from '../../../src/platform/limits/limits.ts'
import { createRedisCounters } from '../../../src/platform/limits/redis-limit-store.ts'
import { createRedisPubSub } from '../../../src/platform/pubsub.ts'
import { isRedisUnavailable, openRedis, type RedisConnection } from '../../../src/platform/redis/index.ts'
import { systemClock } from '../../../src/platform/runtime/index.ts'
import { startFlakyProxy } from '../../harness/flaky-proxy.ts'
import { needsRedis } from '../../harness/needs.ts'
import { startRedis, type TestRedis } from '../../harness/redis.ts'
import { startRedisCluster } from '../../harness/redis-cluster.ts'

const server = await startRedis()
const masters = await startRedisCluster()
afterAll(async () => {
  await server?.stop()
  for (const each of masters) await each.stop()
})

function open(
  url: string,
  cluster = false,
  onEvicting = (_policy: string): void => undefined,
  commandTimeoutMs = 20_000,
  onReady = (): void => undefined,
): Promise<RedisConnection> {
  return openRedis({
    url,
    cluster,
    connectTimeoutMs: 20_000,
    commandTimeoutMs,
    onError: () => undefined,
    onReady,
    onEvicting,
  })
}

async function killer({ url }: TestRedis): Promise<() => void> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined)
  socket.write('PING\r\n')
  await once(socket, 'data')
  return () => void socket.end('CLIENT KILL TYPE normal\r\n')
}

const failure = (sent: Promise<unknown>) => sent.then(() => undefined).catch((error: unknown) => error)
test('broken new connections: no unhandled rejection, and subscriptions recover', needsRedis(server), async () => {
  const rejected: unknown[] = []
  const onRejected = (reason: unknown) => void rejected.push(reason)
  process.on('unhandledRejection', onRejected)
  const flaky = await startFlakyProxy(Number(new URL(server?.url ?? '').port))
  const connections = await Promise.all(Array.from({ length: 8 }, () => open(`redis://127.0.0.1:${flaky.port}`)))
  const received: string[] = []
  for (const each of connections) each.subscribe('news', (text) => received.push(text))
  await pause(200)
  await flaky.cutAfter('redis_version', 100)
  await expect
    .poll(
      async () => {
        await connections[0]?.command('PUBLISH', 'news', 'again').catch(() => undefined)
        return received.length
      },
      { timeout: 60_000 },
    )
    .toBeGreaterThanOrEqual(8)
  for (const each of connections) await each.close()
  await flaky.close()
  process.off('unhandledRejection', onRejected)
  expect(rejected).toEqual([])
})

describe.each([
  ['one server', server ? [server] : [], false],
  ['a cluster of three masters', masters, true],
] as const)('Redis, %s', needsRedis(server), (_, nodes: readonly TestRedis[], cluster) => {
  let connections: RedisConnection[]
  const everywhere = (command: string) => Promise.all(nodes.map((node) => node.sendRequest(command)))

  beforeAll(async () => {
    const [url = '', last = url] = [nodes.at(0)?.url, nodes.at(-1)?.url]
    connections = [await open(url, cluster), await open(last, cluster)]
  })
  beforeEach(() => everywhere('FLUSHALL'))
  afterAll(async () => {
    for (const each of connections ?? []) await each.close()
  })
  const one = () => connections[0] as RedisConnection
  const other = () => connections[1] as RedisConnection

  test('increment: replicas count in one fixed window', async () => {
    const caches = [one(), other()].map(createRedisCache)
    const counts = await Promise.all(Array.from({ length: 40 }, (_, each) => caches[each % 2]?.increment('n', 60_000)))
    expect(counts.map((each) => each?.count).sort((a = 0, b = 0) => a - b)).toEqual(
      Array.from({ length: 40 }, (_, each) => each + 1),
    )
    for (const each of counts) expect(each?.remaining).toBeGreaterThan(30_000)
    await caches[0]?.increment('short', 60)
    await pause(90)
    expect((await caches[0]?.increment('short', 60))?.count).toBe(1)
  })

  test('increment: does not extend a window, and sets a missing TTL', async () => {
    const cache = createRedisCache(one())
    await cache.increment('fixed', 10_000)
    await pause(250)
    const { remaining } = await cache.increment('fixed', 10_000)
    expect(remaining).toBeLessThanOrEqual(10_001 - 250)
    // Otherwise the window would never close.
    await cache.increment('short', 400)
    await expect.poll(async () => (await cache.increment('short', 400)).count).toBe(1)
    await one().command('SET', 'portico:endless', 5)
    expect(await cache.increment('endless', 5_000)).toEqual({ count: 6, remaining: 5_000 })
    expect((await cache.increment('endless', 5_000)).remaining).toBeLessThanOrEqual(5_000)
    expect(await one().command('PTTL', 'portico:endless')).toBeGreaterThan(0)
  })

  test('fractions of milliseconds are rounded up', async () => {
    const cache = createRedisCache(one())
    await cache.joinGroup('{g}:windows', { epoch: 'one', max: 10, ttl: 10_000.5 })
    expect(await cache.spend({ group: '{g}:windows', epoch: 'one', member: 'a' }, 1, 16)).toBe(true)
    expect((await cache.increment('fractions', 10_000.5)).remaining).toBe(10_001)
  })

  test('limits: count across replicas, also after SCRIPT FLUSH', async () => {
    const [a, b] = [one(), other()].map((each) =>
      createLimits(() => 1, systemClock, createRedisCounters(each, { cluster })),
    )
    const rule = { limit: 3, windowMs: 60_000 }
    const spend = (limits = a) => limits?.spend('login', '203.0.113.7', rule)
    expect(await spend(a)).toMatchObject({ allowed: true, remaining: 2 })
    expect(await spend(b)).toMatchObject({ allowed: true, remaining: 1 })
    await everywhere('SCRIPT FLUSH')
    expect(await spend(a)).toMatchObject({ allowed: true, remaining: 0 })
    const last = await spend(b)
    expect(last).toMatchObject({ allowed: false, remaining: 0 })
    expect(last?.resetMs).toBeGreaterThan(50_000)
  })

  test('spendAll: counts in order with `spend`, and stops after the first limit that is exceeded', async () => {
    const sent: string[] = []
    const redis: RedisConnection = {
      ...one(),
      script: (script, keys, values) => {
        sent.push(`${keys.length} keys`)
        return one().script(script, keys, values)
      },
    }
    const limits = createLimits(() => 1, systemClock, createRedisCounters(redis, { cluster }))
    const windowMs = 60_000
    const address = { name: 'address', key: '203.0.113.7', rule: { limit: 3, windowMs } }
    const account = { name: 'general-account', key: 'somebody', rule: { limit: 9, windowMs } }
    const spendAll = async () => (await limits.spendAll([address, account])).map(({ remaining }) => remaining)
    expect(await spendAll()).toEqual([2, 8])
    expect(sent).toEqual(cluster ? ['1 keys', '1 keys'] : ['2 keys'])
    expect(await limits.spend(address.name, address.key, address.rule)).toMatchObject({ allowed: true, remaining: 1 })
    expect(await spendAll()).toEqual([0, 7])
    const refused = await limits.spendAll([address, account])
    expect(refused).toMatchObject([{ allowed: false, limit: 3, remaining: 0 }])
    expect(refused[0]?.resetMs).toBeGreaterThan(50_000)
    expect(await limits.spend(account.name, account.key, account.rule)).toMatchObject({ remaining: 6 })
    limits.close()
  })

  test('spendAll: resets a TTL longer than its window, and starts a new window after the last', async () => {
    const limits = createLimits(() => 1, systemClock, createRedisCounters(one(), { cluster }))
    const spends = ['one', 'two'].map((key) => ({ name: 'login', key, rule: { limit: 2, windowMs: 5_000 } }))
    const remaining = async () => (await limits.spendAll(spends)).map((each) => each.remaining)
    expect(await remaining()).toEqual([1, 1])
    expect(await one().command('PEXPIRE', 'portico:limit:login:two', 86_400_000)).toBe(1)
    const [, ahead] = await limits.spendAll(spends)
    expect(ahead?.resetMs).toBeLessThanOrEqual(5_000)
    const exist = () => Promise.all(['one', 'two'].map((key) => one().command('EXISTS', `portico:limit:login:${key}`)))
    await expect.poll(exist).toEqual([0, 0])
    expect(await remaining()).toEqual([1, 1])
    limits.close()
  })

  test('a TTL longer than its window (clock set back): reset to the window', async () => {
    const [cache, limits] = [
      createRedisCache(one()),
      createLimits(() => 1, systemClock, createRedisCounters(one(), { cluster })),
    ]
    const spend = () => limits.spend('login', '203.0.113.7', { limit: 2, windowMs: 60_000 })
    await Promise.all([cache.increment('ahead', 60_000), spend()])
    for (const key of ['portico:ahead', 'portico:limit:login:203.0.113.7'])
      expect(await one().command('PEXPIRE', key, 86_400_000)).toBe(1)
    expect(await cache.increment('ahead', 60_000)).toEqual({ count: 2, remaining: 60_000 })
    expect((await cache.increment('ahead', 60_000)).remaining).toBeLessThanOrEqual(60_000)
    const passed = await spend()
    expect(passed).toMatchObject({ allowed: true, remaining: 0 })
    expect(passed.resetMs).toBeLessThanOrEqual(60_000)
    expect(await one().command('PTTL', 'portico:limit:login:203.0.113.7')).toBeLessThanOrEqual(60_000)
    const refused = await spend()
    expect(refused.allowed).toBe(false)
    expect(refused.resetMs).toBeLessThanOrEqual(60_000)
  })

  test('publish: reaches other replicas', async () => {
    const received: string[] = []
    createRedisPubSub(other()).subscribe('session-changed', (text) => received.push(text))
    // Messages before the subscription are lost.
    await expect
      .poll(() => {
        createRedisPubSub(one()).publish('session-changed', 'an id')
        return received
      })
      .toContain('an id')
  })

  test('a command whose connection breaks: fails and is not sent again', async () => {
    const cache = createRedisCache(one())
    let sent = (await cache.increment('lost', 60_000)).count
    // When Redis continues, it counts both commands. The connection usually breaks before the reply.
    for (let isLost = false; !isLost; sent += 1) {
      expect(sent).toBeLessThan(10)
      const killers = await Promise.all(nodes.map(killer))
      for (const { child } of nodes) child.kill('SIGSTOP')
      await pause(20)
      const counting = failure(cache.increment('lost', 60_000))
      await pause(20)
      for (const kill of killers) kill()
      await pause(20)
      for (const { child } of nodes) child.kill('SIGCONT')
      isLost = isRedisUnavailable(await counting)
      await expect.poll(() => failure(one().command('GET', 'portico:lost'))).toBeUndefined()
    }
    expect([sent - 1, sent]).toContain(Number(await one().command('GET', 'portico:lost')))
  })

  test('a paused Redis: commands fail within their timeout, and work again afterwards', async () => {
    const impatient = await open(nodes[0]?.url ?? '', cluster, undefined, 500)
    const cache = createRedisCache(impatient)
    for (const { child } of nodes) child.kill('SIGSTOP')
    const start = performance.now()
    try {
      expect(isRedisUnavailable(await failure(cache.increment('p', 1_000)))).toBe(true)
      // This is earlier than the silence timeout.
      expect(performance.now() - start).toBeLessThan(3_500)
    } finally {
      for (const { child } of nodes) child.kill('SIGCONT')
    }
    await expect.poll(() => impatient.command('GET', 'portico:p').catch(() => 'failed')).not.toBe('failed')
    await impatient.close()
  })
})

describe('a cluster whose slots move', needsRedis(server), () => {
  let redis: RedisConnection
  beforeAll(async () => {
    redis = await open(masters[0]?.url ?? '', true)
  })
  afterAll(() => redis?.close())

  const locate = async (key: string) => {
    const owners: TestRedis[] = []
    for (const node of masters) if (!(await node.sendRequest(`EXISTS ${key}`)).startsWith('-MOVED')) owners.push(node)
    const [from] = owners
    const to = masters.find((node) => node !== from)
    if (!from || !to || owners.length > 1) throw new Error(`${owners.length} masters for ${key}`)
    return { slot: (await from.sendRequest(`CLUSTER KEYSLOT ${key}`)).slice(1), from, to }
  }
  const idOf = async (node: TestRedis) => (await node.query('CLUSTER MYID')).split('\r\n')[1]

  test('keys are spread over the masters; a command on two slots is refused', async () => {
    const everyKey = Array.from({ length: 60 }, (_, each) => `portico:spread-${each}`)
    await Promise.all(everyKey.map((key, each) => redis.command('SET', key, each, 'PX', 10_000)))
    for (const node of masters) expect(Number((await node.sendRequest('DBSIZE')).slice(1))).toBeGreaterThan(5)
    const found = await Promise.all(everyKey.map((key) => redis.command('GET', key)))
    expect(found).toEqual(Array.from({ length: 60 }, (_, each) => String(each)))
    expect(isRedisUnavailable(await failure(redis.command('MGET', 'spread-0', 'spread-1', 'spread-2')))).toBe(true)
  })

  test('a moved slot (MOVED): commands and scripts follow it and run once', async () => {
    const cache = createRedisCache(redis)
    expect((await cache.increment('moved', 60_000)).count).toBe(1)
    await redis.command('DEL', 'portico:moved')
    const { slot, from, to } = await locate('portico:moved')
    const id = await idOf(to)
    for (const node of [to, from, ...masters]) await node.sendRequest(`CLUSTER SETSLOT ${slot} NODE ${id}`)
    expect(await from.sendRequest('GET portico:moved')).toMatch(/^-MOVED/)
    expect((await cache.increment('moved', 60_000)).count).toBe(1)
    expect((await cache.increment('moved', 60_000)).count).toBe(2)
    expect(await to.sendRequest('EXISTS portico:moved')).toBe(':1')
  })

  test('a migrating slot (ASK): new keys are created on the target, once', async () => {
    const cache = createRedisCache(redis)
    const { slot, from, to } = await locate('portico:asked')
    await to.sendRequest(`CLUSTER SETSLOT ${slot} IMPORTING ${await idOf(from)}`)
    await from.sendRequest(`CLUSTER SETSLOT ${slot} MIGRATING ${await idOf(to)}`)
    const counts = await Promise.all(Array.from({ length: 10 }, () => cache.increment('asked', 60_000)))
    expect(counts.map(({ count }) => count).sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    expect(await from.sendRequest('GET portico:asked')).toMatch(/^-ASK/)
    const id = await idOf(to)
    for (const node of [to, from, ...masters]) await node.sendRequest(`CLUSTER SETSLOT ${slot} NODE ${id}`)
    expect((await cache.increment('asked', 60_000)).count).toBe(11)
  })
})

describe('a cluster that loses a master', needsRedis(server), () => {
  test('commands for its slots fail fast, others work', async () => {
    const own = await startRedisCluster()
    const redis = await open(own[0]?.url ?? '', true)
    const keys = Array.from({ length: 30 }, (_, each) => `portico:key-${each}`)
    for (const key of keys) await redis.command('SET', key, 'there', 'PX', 60_000)
    await own[2]?.stop()
    const start = performance.now()
    const found = await Promise.all(
      keys.map((key) => redis.command('GET', key).catch((error) => isRedisUnavailable(error))),
    )
    expect(performance.now() - start).toBeLessThan(10_000)
    expect(new Set(found)).toEqual(new Set(['there', true]))
    expect(found.filter((each) => each === 'there').length).toBeGreaterThan(10)
    await redis.close()
    for (const each of own) await each.stop()
  })
})

describe('a Redis outage', needsRedis(server), () => {
  test('fails fast while Redis is down; reconnects with its subscriptions', async () => {
    const first = await startRedis()
    if (!first) throw new Error('no Redis')
    const redis = await open(first.url)
    const received: string[] = []
    const pubsub = createRedisPubSub(redis)
    pubsub.subscribe('session-changed', (text) => received.push(text))
    await first.stop()
    const start = performance.now()
    expect(isRedisUnavailable(await failure(redis.check()))).toBe(true)
    expect(performance.now() - start).toBeLessThan(10_000)
    pubsub.publish('session-changed', 'lost here, heard locally')
    const second = await startRedis([], Number(new URL(first.url).port))
    await expect.poll(() => redis.check().then(() => 'up')).toBe('up')
    await expect
      .poll(() => second?.sendRequest('PUBLISH portico:session-changed found').then(() => received))
      .toContain('found')
    await redis.close()
    await second?.stop()
  })

  test.each([
    ['is full', 'CONFIG SET maxmemory 1', 'CONFIG SET maxmemory 0'],
    ['is a replica', 'REPLICAOF 127.0.0.1 1', 'REPLICAOF NO ONE'],
    ['denies scripts', 'ACL SETUSER default -@scripting', 'ACL SETUSER default +@scripting'],
  ])('check: fails while Redis %s, and succeeds afterwards', async (_name, fault, end) => {
    const own = await startRedis()
    if (!own) throw new Error('no Redis')
    const redis = await open(own.url)
    await redis.check()
    await own.sendRequest(fault)
    expect(isRedisUnavailable(await failure(redis.check()))).toBe(true)
    await own.sendRequest(end)
    await expect.poll(() => redis.check().then(() => 'up')).toBe('up')
    await redis.close()
    await own.stop()
  })

  test('memory: the used and the maximum number of bytes', async () => {
    const own = await startRedis(['--maxmemory', '50mb'])
    if (!own) throw new Error('no Redis')
    const redis = await open(own.url)
    const { used, max } = await redis.memory()
    expect(max).toBe(50 * 1_024 * 1_024)
    expect(used).toBeGreaterThan(100_000)
    expect(used).toBeLessThan(max)
    await own.stop()
    expect(isRedisUnavailable(await failure(redis.memory()))).toBe(true)
    await redis.close()
  })

  test('an eviction policy: reported at every connection', async () => {
    const own = await startRedis(['--maxmemory', '50mb', '--maxmemory-policy', 'noeviction'])
    if (!own) throw new Error('no Redis')
    const policies: string[] = []
    const redis = await open(own.url, false, (policy) => policies.push(policy))
    const reconnect = async () => {
      await own.sendRequest('CLIENT KILL TYPE normal')
      await expect.poll(() => redis.check().then(() => 'up', String)).toBe('up')
      await pause(50)
    }
    await reconnect()
    expect(policies).toEqual([])
    await own.sendRequest('CONFIG SET maxmemory-policy volatile-lru')
    await reconnect()
    expect(policies).toEqual(['volatile-lru'])
    await own.sendRequest('CONFIG SET maxmemory 0')
    await reconnect()
    expect(policies).toEqual(['volatile-lru'])
    await redis.close()
    await own.stop()
  })

  test('openRedis: the error names REDIS_URL and has the cause', async () => {
    const refused = await failure(open('redis://ana:hidden@127.0.0.1:1'))
    const message = 'cannot connect to Redis at ana@127.0.0.1:1 (REDIS_URL)'
    expect(refused).toMatchObject({ message, cause: { code: 'ECONNREFUSED' } })
  })
})
