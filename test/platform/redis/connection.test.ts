import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createRedisPubSub } from '../../../src/platform/pubsub.ts'
import { isRedisUnavailable, openRedis, type RedisConnection, scriptOf } from '../../../src/platform/redis/index.ts'
import { startRedis, type TestRedis } from '../../harness/redis.ts'
import { startRedisCluster } from '../../harness/redis-cluster.ts'
import { startRelay } from '../../harness/relay.ts'

const probe = await startRedis()
await probe?.stop()
const available = test.skipIf(!probe)

const scene = async (): Promise<TestRedis> => {
  const own = await startRedis()
  if (!own) throw new Error('no Redis')
  return own
}
/** One that would wait for long: whatever fails sooner did not wait. */
const open = (
  url: string,
  onError = (_error: Error): void => undefined,
  cluster = false,
  connectTimeoutMs = 20_000,
  commandTimeoutMs = 20_000,
): Promise<RedisConnection> =>
  openRedis({
    url,
    cluster,
    connectTimeoutMs,
    commandTimeoutMs,
    onError,
    onReady: () => undefined,
    onEvicting: () => undefined,
  })
const isFault = (asked: Promise<unknown>): Promise<boolean> => asked.then(() => false, isRedisUnavailable)

available('a command that is under way when its connection breaks fails then, and not by its time', async () => {
  const own = await scene()
  const redis = await open(own.url)
  own.child.kill('SIGSTOP')
  const failed = isFault(redis.check())
  await pause(50)
  const start = performance.now()
  await own.stop()
  expect(await failed).toBe(true)
  expect(performance.now() - start).toBeLessThan(10_000)
  await redis.close()
})

available('a database that Redis does not have is refused: its first one may be somebody else’s', async () => {
  const own = await scene()
  await expect(open(`${own.url}/1000`)).rejects.toMatchObject({
    message: expect.stringContaining('REDIS_URL'),
    cause: { message: 'ERR DB index is out of range' },
  })
  await own.stop()
})

available.each([
  ['its slots have no node', 'CLUSTER DELSLOTSRANGE 1001 16383'],
  ['its state may not be asked', 'ACL SETUSER default -cluster|info'],
])('a cluster that is not ready is refused at the start, and not waited for in silence: %s', async (_, make) => {
  const [own] = await startRedisCluster(1)
  if (!own) throw new Error('no Redis')
  await own.ask(make)
  await expect(open(own.url, undefined, true)).rejects.toMatchObject({
    message: expect.stringContaining('REDIS_URL'),
    cause: { message: expect.stringContaining('CLUSTER INFO') },
  })
  await own.stop()
})

available('while there is no connection a command fails at once: it waits for none to be made', async () => {
  const own = await scene()
  const redis = await open(own.url)
  await own.stop()
  await expect.poll(() => isFault(redis.check())).toBe(true)
  const start = performance.now()
  for (let time = 0; time < 50; time++) expect(await isFault(redis.check())).toBe(true)
  // Each waits a quarter of a second for the next attempt to have one, or does not.
  expect(performance.now() - start).toBeLessThan(8_000)
  await redis.close()
})

available('a connection that has fallen silent is given up, and one made anew that answers', async () => {
  const own = await scene()
  const relay = await startRelay(Number(new URL(own.url).port))
  const redis = await open(`redis://127.0.0.1:${relay.port}`)
  relay.silence()
  const start = performance.now()
  expect(await isFault(redis.check())).toBe(true)
  await expect.poll(() => isFault(redis.check())).toBe(false)
  expect(performance.now() - start).toBeLessThan(18_000)
  await redis.close()
  await relay.close()
  await own.stop()
})

/** Does not come back, and lets nothing happen in this process, until Redis has answered whoever asked before. */
const standStill = (url: string): void => {
  const script = `const socket = require('node:net').connect(${new URL(url).port}, '127.0.0.1', () => socket.write('PING\\r\\n'))
    socket.once('data', () => socket.destroy())`
  spawnSync(process.execPath, ['-e', script])
}

available('an answer that lies there once this process goes on is in time, however long it did not look', async () => {
  const own = await scene()
  const commandTimeoutMs = 50
  const redis = await open(own.url, undefined, false, 20_000, commandTimeoutMs)
  for (let round = 0; round < 5; round++) {
    const start = performance.now()
    const asked = isFault(redis.check())
    await new Promise((sent) => setImmediate(sent))
    standStill(own.url)
    while (performance.now() - start < 2 * commandTimeoutMs);
    expect(await asked).toBe(false)
  }
  own.child.kill('SIGSTOP')
  const start = performance.now()
  expect(await isFault(redis.check())).toBe(true)
  // Sooner than its silence is found out.
  expect(performance.now() - start).toBeLessThan(3_500)
  own.child.kill('SIGCONT')
  await redis.close()
  await own.stop()
})

available('what is written to see whether Redis takes anything is gone within a second', async () => {
  const own = await scene()
  const redis = await open(own.url)
  const left = async () => {
    await redis.check()
    return Number(await redis.command('PTTL', 'portico:ready'))
  }
  // Whoever looks too late does not see it any more.
  await expect.poll(left).toBeGreaterThan(0)
  expect(await left()).toBeLessThanOrEqual(1_000)
  await redis.close()
  await own.stop()
})

available('once it is closed none of its connections is left', async () => {
  const own = await scene()
  const connected = async () => /connected_clients:(\d+)/.exec(await own.tell('INFO clients'))?.[1]
  const redis = await open(own.url)
  // The one that asks is counted too.
  expect(await connected()).toBe('3')
  await redis.close()
  await expect.poll(connected).toBe('1')
  await own.stop()
})

available.each([
  "READONLY You can't write against a read only replica.",
  "ERR Error running script (call to f_0c1): @user_script:2: @user_script: 2: -READONLY You can't write against a read only replica.",
])('a connection on which a replica answers is made anew: %s', async (said) => {
  const own = await scene()
  const redis = await open(own.url)
  const id = () => redis.command('CLIENT', 'ID').catch(() => null)
  const before = await id()
  const answering = scriptOf(`return redis.error_reply(${JSON.stringify(said)})`)
  expect(await isFault(redis.script(answering, ['a'], []))).toBe(true)
  await expect.poll(id).toBeGreaterThan(Number(before))
  await redis.close()
  await own.stop()
})

available.each([
  ['takes no more', 'REPLICAOF 127.0.0.1 1'],
  ['takes nothing without replicas', 'CONFIG SET min-replicas-to-write 1'],
  ['answers nothing without its master', 'CONFIG SET replica-serve-stale-data no', 'REPLICAOF 127.0.0.1 1'],
])(
  'a Redis that leaves its connections open but %s is left for the one that the address leads to',
  async (...faulty) => {
    const [, ...faults] = faulty
    const [own, next] = [await scene(), await scene()]
    const relay = await startRelay(Number(new URL(own.url).port))
    const redis = await open(`redis://127.0.0.1:${relay.port}`)
    for (const fault of faults) expect(await own.ask(fault)).toBe('+OK')
    relay.leadTo(Number(new URL(next.url).port))
    await expect.poll(() => isFault(redis.check())).toBe(false)
    await redis.command('SET', 'moved', 'there')
    expect(await next.tell('GET moved')).toContain('there')
    await redis.close()
    await relay.close()
    for (const each of [own, next]) await each.stop()
  },
)

test('where there is no Redis as it opens, it is not looked for any more', async () => {
  let errors = 0
  await expect(open('redis://127.0.0.1:1', () => void errors++)).rejects.toThrow('REDIS_URL')
  const before = errors
  await pause(300)
  expect(errors).toBe(before)
})

describe.skipIf(!probe)('a cluster that lets in nobody whom it does not know', () => {
  let node: TestRedis | undefined
  const at = (credentials: string) => node?.url.replace('redis://', `redis://${credentials}`) ?? ''
  const opened = async (credentials: string): Promise<string> => {
    const redis = await open(at(credentials), undefined, true)
    const name = String(await redis.command('ACL', 'WHOAMI'))
    await redis.close()
    return name
  }
  beforeAll(async () => {
    node = (await startRedisCluster(1))[0]
    await node?.ask('ACL SETUSER a@b on >to/day ~* &* +@all')
    await node?.ask('ACL SETUSER default resetpass >every:one')
  })
  afterAll(() => node?.stop())

  test('is told the name and the password that the URL names, or the password alone', async () => {
    expect(await opened('a%40b:to%2Fday@')).toBe('a@b')
    expect(await opened(':every%3Aone@')).toBe('default')
    await expect(opened('a%40b:wrong@')).rejects.toThrow('REDIS_URL')
    await expect(opened('')).rejects.toThrow('REDIS_URL')
  })

  test('a time of 0 to connect sets no bound, as for a server alone', async () => {
    const redis = await open(at(':every%3Aone@'), undefined, true, 0)
    expect(await isFault(redis.check())).toBe(false)
    await redis.close()
  })
})

test.each([
  ['rediss', 22],
  ['redis', '*'.charCodeAt(0)],
])('a node of a cluster is spoken to as its URL says: %s', async (protocol, first) => {
  const spoken = Promise.withResolvers<number>()
  const listener = createServer((socket) =>
    socket
      .on('error', () => undefined)
      .once('data', (bytes: Buffer) => {
        spoken.resolve(bytes.readUInt8())
        socket.destroy()
      }),
  )
  await once(listener.listen(0, '127.0.0.1'), 'listening')
  const address = listener.address()
  const port = typeof address === 'object' ? address?.port : 0
  await expect(open(`${protocol}://127.0.0.1:${port}`, undefined, true)).rejects.toThrow('REDIS_URL')
  expect(await spoken.promise).toBe(first)
  listener.close()
})

available('news are heard by everybody who listens for them, here as well', async () => {
  const own = await scene()
  const redis = await open(own.url)
  const announcements = createRedisPubSub(redis)
  const heard: string[] = []
  for (const name of ['one', 'two'])
    announcements.subscribe('session-changed', (text) => heard.push(`${name}: ${text}`))
  announcements.publish('session-changed', 'an id')
  expect(heard).toEqual(['one: an id', 'two: an id'])
  await redis.close()
  await own.stop()
})
