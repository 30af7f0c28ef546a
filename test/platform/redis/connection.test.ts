import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createRedisPubSub } from '../../../src/platform/pubsub.ts'
import { isRedisUnavailable, openRedis, type RedisConnection, scriptOf } from '../../../src/platform/redis/index.ts'
import { needsRedis } from '../../harness/needs.ts'
import { startRedis, type TestRedis } from '../../harness/redis.ts'
import { startRedisCluster } from '../../harness/redis-cluster.ts'
import { startRelay } from '../../harness/relay.ts'

const probe = await startRedis()
await probe?.stop()

async function startServer(): Promise<TestRedis> {
  const server = await startRedis()
  if (!server) throw new Error('no Redis')
  return server
}
/** Opens a connection with long timeouts, so that an early failure cannot be a timeout. */
function open(
  url: string,
  onError = (_error: Error): void => undefined,
  cluster = false,
  connectTimeoutMs = 20_000,
  commandTimeoutMs = 20_000,
): Promise<RedisConnection> {
  return openRedis({
    url,
    cluster,
    connectTimeoutMs,
    commandTimeoutMs,
    onError,
    onReady: () => undefined,
    onEvicting: () => undefined,
  })
}
function failsUnavailable(reply: Promise<unknown>): Promise<boolean> {
  return reply.then(() => false, isRedisUnavailable)
}

test('a pending command: fails when its connection breaks', needsRedis(probe), async () => {
  const server = await startServer()
  const redis = await open(server.url)
  server.child.kill('SIGSTOP')
  const failed = failsUnavailable(redis.check())
  await pause(50)
  const start = performance.now()
  await server.stop()
  expect(await failed).toBe(true)
  expect(performance.now() - start).toBeLessThan(10_000)
  await redis.close()
})

test('openRedis: an unknown database number is an error', needsRedis(probe), async () => {
  const server = await startServer()
  await expect(open(`${server.url}/1000`)).rejects.toMatchObject({
    message: expect.stringContaining('REDIS_URL'),
    cause: { message: 'ERR DB index is out of range' },
  })
  await server.stop()
})

test.each([
  ['its slots have no node', 'CLUSTER DELSLOTSRANGE 1001 16383'],
  ['its state must not be queried', 'ACL SETUSER default -cluster|info'],
])('openRedis on a cluster that is not ready: rejects if %s', needsRedis(probe), async (_, make) => {
  const [server] = await startRedisCluster(1)
  if (!server) throw new Error('no Redis')
  await server.sendRequest(make)
  await expect(open(server.url, undefined, true)).rejects.toMatchObject({
    message: expect.stringContaining('REDIS_URL'),
    cause: { message: expect.stringContaining('CLUSTER INFO') },
  })
  await server.stop()
})

test('without a connection: commands fail immediately', needsRedis(probe), async () => {
  const server = await startServer()
  const redis = await open(server.url)
  await server.stop()
  await expect.poll(() => failsUnavailable(redis.check())).toBe(true)
  const start = performance.now()
  for (let time = 0; time < 50; time++) expect(await failsUnavailable(redis.check())).toBe(true)
  // Waiting for the next connection would take a quarter of a second per command.
  expect(performance.now() - start).toBeLessThan(8_000)
  await redis.close()
})

test('a silent connection: replaced', needsRedis(probe), async () => {
  const server = await startServer()
  const relay = await startRelay(Number(new URL(server.url).port))
  const redis = await open(`redis://127.0.0.1:${relay.port}`)
  relay.silence()
  const start = performance.now()
  expect(await failsUnavailable(redis.check())).toBe(true)
  await expect.poll(() => failsUnavailable(redis.check())).toBe(false)
  expect(performance.now() - start).toBeLessThan(18_000)
  await redis.close()
  await relay.close()
  await server.stop()
})

test.each([
  ['one server', false],
  ['a cluster', true],
])('a silent connection to %s: replaced after one command timeout', needsRedis(probe), async (_, cluster) => {
  const server = cluster ? (await startRedisCluster(1))[0] : await startServer()
  if (!server) throw new Error('no Redis')
  const relay = await startRelay(Number(new URL(server.url).port))
  // The nodes of a cluster announce this address.
  if (cluster) await server.sendRequest(`CONFIG SET cluster-announce-port ${relay.port}`)
  const commandTimeoutMs = 300
  const redis = await open(`redis://127.0.0.1:${relay.port}`, undefined, cluster, 20_000, commandTimeoutMs)
  const received: string[] = []
  redis.subscribe('portico:test', (text) => void received.push(text))
  await redis.check()
  const takenMs: number[] = []
  // Other load can slow a round, so the fastest of three counts.
  while (takenMs.length < 3 && Math.min(...takenMs) > 2_500) {
    relay.silence()
    const start = performance.now()
    expect(await failsUnavailable(redis.check())).toBe(true)
    await expect.poll(() => failsUnavailable(redis.check()), { interval: 20 }).toBe(false)
    takenMs.push(performance.now() - start)
  }
  // 4 seconds of silence would also close it.
  expect(Math.min(...takenMs)).toBeLessThan(3_500)
  await expect
    .poll(async () => {
      await redis.command('PUBLISH', 'portico:test', 'x').catch(() => undefined)
      return received.length
    })
    .toBeGreaterThan(0)
  await redis.close()
  await relay.close()
  await server.stop()
})

test('a busy Redis: its connection is replaced at most once in four seconds', needsRedis(probe), async () => {
  const server = await startServer()
  const redis = await open(server.url, undefined, false, 20_000, 100)
  redis.subscribe('portico:test', () => undefined)
  const received = async () =>
    Number(/total_connections_received:(\d+)/.exec(await server.query('INFO stats'))?.[1] ?? 0)
  const before = await received()
  for (let round = 0; round < 5; round++) {
    server.child.kill('SIGSTOP')
    for (let time = 0; time < 3; time++) await redis.check().catch(() => undefined)
    server.child.kill('SIGCONT')
    await expect.poll(() => failsUnavailable(redis.check()), { interval: 20 }).toBe(false)
  }
  // Two connections, and this query's. On a slow machine, the rounds take longer than four seconds.
  expect((await received()) - before).toBeLessThanOrEqual(6)
  await redis.close()
  await server.stop()
})

/** Blocks until Redis has responded to all earlier commands. */
function blockProcess(url: string): void {
  const script = `const socket = require('node:net').connect(${new URL(url).port}, '127.0.0.1', () => socket.write('PING\\r\\n'))
    socket.once('data', () => socket.destroy())`
  spawnSync(process.execPath, ['-e', script])
}

test('a reply that arrived while the process was blocked: not a timeout', needsRedis(probe), async () => {
  const server = await startServer()
  const commandTimeoutMs = 50
  const redis = await open(server.url, undefined, false, 20_000, commandTimeoutMs)
  for (let round = 0; round < 5; round++) {
    const start = performance.now()
    const reply = failsUnavailable(redis.check())
    await new Promise((sent) => setImmediate(sent))
    blockProcess(server.url)
    while (performance.now() - start < 2 * commandTimeoutMs);
    expect(await reply).toBe(false)
  }
  server.child.kill('SIGSTOP')
  const start = performance.now()
  expect(await failsUnavailable(redis.check())).toBe(true)
  // This is earlier than the silence timeout.
  expect(performance.now() - start).toBeLessThan(3_500)
  server.child.kill('SIGCONT')
  await redis.close()
  await server.stop()
})

test('check: its key expires within a second', needsRedis(probe), async () => {
  const server = await startServer()
  const redis = await open(server.url)
  const left = async () => {
    await redis.check()
    return Number(await redis.command('PTTL', 'portico:ready'))
  }
  // A slow read finds no key.
  await expect.poll(left).toBeGreaterThan(0)
  expect(await left()).toBeLessThanOrEqual(1_000)
  await redis.close()
  await server.stop()
})

test('close: leaves no connection', needsRedis(probe), async () => {
  const server = await startServer()
  const connected = async () => /connected_clients:(\d+)/.exec(await server.query('INFO clients'))?.[1]
  const redis = await open(server.url)
  // Includes this query's connection.
  expect(await connected()).toBe('3')
  await redis.close()
  await expect.poll(connected).toBe('1')
  await server.stop()
})

test.each([
  "READONLY You can't write against a read only replica.",
  "ERR Error running script (call to f_0c1): @user_script:2: @user_script: 2: -READONLY You can't write against a read only replica.",
])('an error of a replica: reconnects: %s', needsRedis(probe), async (message) => {
  const server = await startServer()
  const redis = await open(server.url)
  const id = () => redis.command('CLIENT', 'ID').catch(() => null)
  const before = await id()
  const failing = scriptOf(`return redis.error_reply(${JSON.stringify(message)})`)
  expect(await failsUnavailable(redis.script(failing, ['a'], []))).toBe(true)
  await expect.poll(id).toBeGreaterThan(Number(before))
  await redis.close()
  await server.stop()
})

test.each([
  ['is a replica', 'REPLICAOF 127.0.0.1 1'],
  ['requires replicas', 'CONFIG SET min-replicas-to-write 1'],
  ['has no master', 'CONFIG SET replica-serve-stale-data no', 'REPLICAOF 127.0.0.1 1'],
])('a Redis that %s: reconnects to the current address', needsRedis(probe), async (...faulty) => {
  const [, ...faults] = faulty
  const [server, next] = [await startServer(), await startServer()]
  const relay = await startRelay(Number(new URL(server.url).port))
  const redis = await open(`redis://127.0.0.1:${relay.port}`)
  for (const fault of faults) expect(await server.sendRequest(fault)).toBe('+OK')
  relay.leadTo(Number(new URL(next.url).port))
  await expect.poll(() => failsUnavailable(redis.check())).toBe(false)
  await redis.command('SET', 'moved', 'there')
  expect(await next.query('GET moved')).toContain('there')
  await redis.close()
  await relay.close()
  for (const each of [server, next]) await each.stop()
})

test('openRedis: does not reconnect after a failed start', async () => {
  let errors = 0
  await expect(open('redis://127.0.0.1:1', () => void errors++)).rejects.toThrow('REDIS_URL')
  const before = errors
  await pause(300)
  expect(errors).toBe(before)
})

describe('a cluster with credentials', needsRedis(probe), () => {
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
    await node?.sendRequest('ACL SETUSER a@b on >to/day ~* &* +@all')
    await node?.sendRequest('ACL SETUSER default resetpass >every:one')
  })
  afterAll(() => node?.stop())

  test('uses the name and password of the URL, or the password alone', async () => {
    expect(await opened('a%40b:to%2Fday@')).toBe('a@b')
    expect(await opened(':every%3Aone@')).toBe('default')
    await expect(opened('a%40b:wrong@')).rejects.toThrow('REDIS_URL')
    await expect(opened('')).rejects.toThrow('REDIS_URL')
  })

  test('connectTimeoutMs 0: no limit, as for a single server', async () => {
    const redis = await open(at(':every%3Aone@'), undefined, true, 0)
    expect(await failsUnavailable(redis.check())).toBe(false)
    await redis.close()
  })
})

test.each([
  ['rediss', 22],
  ['redis', '*'.charCodeAt(0)],
])('a node of a cluster: uses the protocol of the URL: %s', needsRedis(probe), async (protocol, first) => {
  const firstByte = Promise.withResolvers<number>()
  const listener = createServer((socket) =>
    socket
      .on('error', () => undefined)
      .once('data', (bytes: Buffer) => {
        firstByte.resolve(bytes.readUInt8())
        socket.destroy()
      }),
  )
  await once(listener.listen(0, '127.0.0.1'), 'listening')
  const address = listener.address()
  const port = typeof address === 'object' ? address?.port : 0
  await expect(open(`${protocol}://127.0.0.1:${port}`, undefined, true)).rejects.toThrow('REDIS_URL')
  expect(await firstByte.promise).toBe(first)
  listener.close()
})

test('createRedisPubSub: delivers to all local subscribers', needsRedis(probe), async () => {
  const server = await startServer()
  const redis = await open(server.url)
  const pubsub = createRedisPubSub(redis)
  const received: string[] = []
  for (const name of ['one', 'two']) pubsub.subscribe('session-changed', (text) => received.push(`${name}: ${text}`))
  pubsub.publish('session-changed', 'an id')
  expect(received).toEqual(['one: an id', 'two: an id'])
  await redis.close()
  await server.stop()
})
