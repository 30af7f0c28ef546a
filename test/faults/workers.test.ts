import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { dump } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startConfigured } from '../harness/configured.ts'
import { postWithDelayedEnd } from '../harness/delayed-post.ts'
import { needsPostgres, needsRedis } from '../harness/needs.ts'
import { freePort } from '../harness/postgres.ts'
import { seededPostgres } from '../harness/prepared-postgres.ts'
import { startRedis } from '../harness/redis.ts'
import { longTimeouts, root } from '../harness/settings.ts'
import {
  connections,
  countedRequests,
  get,
  isAlive,
  linesOf,
  pidOf,
  readers,
  readiness,
  untilReady,
} from './workers-world.ts'

const postgres = await seededPostgres()
const redis = await startRedis()
afterAll(async () => {
  await redis?.stop()
  await postgres?.stop()
})

const variables = {
  DATABASE_URL: postgres?.url ?? '',
  REDIS_URL: redis?.url ?? '',
  PORTICO_RATE_LIMIT_SCALE: '100000',
}

type Gateway = Awaited<ReturnType<typeof startConfigured>>
async function startWorkers(shutdown = { delayMs: 500, timeoutMs: 20_000 }): Promise<Gateway> {
  const configuration = { database: longTimeouts, redis: { commandTimeoutMs: 1_000 }, shutdown }
  const gateway = await startConfigured(variables, configuration, 'gateway', [], ['--workers', '2'])
  await untilReady(gateway)
  return gateway
}

describe('two workers', { ...needsPostgres(postgres), ...needsRedis(redis) }, () => {
  let gateway: Gateway
  beforeAll(async () => {
    gateway = await startWorkers()
  })
  afterAll(() => gateway?.stop())

  test('both serve one port; metrics are their sum, and the log names the worker', async () => {
    const before = await countedRequests(gateway)
    const statuses = await Promise.all(Array.from({ length: 20 }, () => get(gateway.url)))
    expect(statuses.filter(({ status }) => status !== 200)).toEqual([])
    expect((await countedRequests(gateway)) - before).toBe(20)
    const workersOfRequests = () =>
      new Set(linesOf(gateway).flatMap(({ msg, worker }) => (msg === 'request' ? [worker] : [])))
    await expect.poll(workersOfRequests).toEqual(new Set([1, 2]))
    const { replicas } = await (await fetch(`${gateway.operationsUrl}/status`)).json()
    expect(new Set(replicas.map(({ replica }: { replica: string }) => replica)).size).toBe(2)
  })

  test('one operations listener: it explains the requests of both workers, and has their pages', async () => {
    await Promise.all(Array.from({ length: 8 }, () => get(gateway.url)))
    const requests = () => linesOf(gateway).filter(({ msg }) => msg === 'request')
    await expect.poll(() => new Set(requests().map(({ worker }) => worker)).size).toBe(2)
    for (const { requestId } of requests())
      expect((await fetch(`${gateway.operationsUrl}/explain/${requestId}`)).status).toBe(200)
    const status = async (page: string, headers = {}) => (await fetch(gateway.operationsUrl + page, { headers })).status
    expect(await status('/')).toBe(200)
    expect(await status('/.well-known/jwks.json')).toBe(200)
    expect(await status('/mail.json')).toBe(200)
    expect(await status('/health/live')).toBe(200)
    // Only the supervisor reads the metrics of one worker.
    expect(await status('/metrics/worker')).toBe(404)
    const openMetrics = await fetch(`${gateway.operationsUrl}/metrics`, {
      headers: { accept: 'application/openmetrics-text' },
    })
    expect(await openMetrics.text()).toMatch(/\n# EOF\n$/)
  })

  test('SIGTERM to a worker: no request is lost, and another process takes its place', async () => {
    const pid = pidOf(gateway, 1)
    const reading = readers(gateway.url)
    await expect.poll(() => reading.outcomes.length).toBeGreaterThan(100)
    process.kill(pid, 'SIGTERM')
    await expect.poll(() => pidOf(gateway, 1), { timeout: 60_000 }).not.toBe(pid)
    const soFar = reading.outcomes.length
    await expect.poll(() => reading.outcomes.length).toBeGreaterThan(soFar + 100)
    const outcomes = await reading.stop()
    expect(outcomes.filter(({ status }) => status !== 200)).toEqual([])
    expect(isAlive(pid)).toBe(false)
  })

  test('SIGKILL to a worker: at most the request of each connection is lost, a retry succeeds, and no count falls', async () => {
    const pid = pidOf(gateway, 2)
    const reading = readers(gateway.url)
    await expect.poll(() => reading.outcomes.length).toBeGreaterThan(100)
    const counted = await countedRequests(gateway)
    process.kill(pid, 'SIGKILL')
    await expect.poll(async () => (await readiness(gateway)).workers['2']?.status).toBe('unready')
    expect((await readiness(gateway)).status).toBe('ready')
    expect((await get(gateway.url)).status).toBe(200)
    expect(await countedRequests(gateway)).toBeGreaterThanOrEqual(counted)
    await expect.poll(() => pidOf(gateway, 2), { timeout: 60_000 }).not.toBe(pid)
    const failures = (await reading.stop()).filter(({ status }) => status !== 200)
    expect(failures.length).toBeLessThanOrEqual(connections)
    expect(failures.filter(({ status }) => status !== 0)).toEqual([])
    expect(await countedRequests(gateway)).toBeGreaterThanOrEqual(counted)
    const ended = linesOf(gateway).findLast(({ msg }) => msg === 'worker ended; another one starts')
    expect(ended).toMatchObject({ worker: 2, pid, code: 137, hasServed: true, delayMs: 250 })
  })

  test('SIGHUP reloads both', async () => {
    gateway.child.kill('SIGHUP')
    const reloads = () =>
      linesOf(gateway).flatMap(({ msg, worker }) => (msg === 'backends and limits reloaded' ? [worker] : []))
    await expect.poll(() => reloads().toSorted()).toEqual([1, 2])
  })
})

describe('the end of two workers', { ...needsPostgres(postgres), ...needsRedis(redis) }, () => {
  test('SIGTERM: both finish their requests, readiness fails, and the exit code is 0', async () => {
    const gateway = await startWorkers()
    const release = Promise.withResolvers<void>()
    const bytes = Buffer.from('{}')
    const sent = Array.from({ length: 4 }, () =>
      postWithDelayedEnd(`${gateway.url}/web/v1/consumer/auth/login/initiate`, { headers: {}, bytes }, release.promise),
    )
    await get(gateway.url)
    const ended = once(gateway.child, 'exit')
    gateway.child.kill('SIGTERM')
    await expect.poll(async () => (await readiness(gateway)).status).toBe('draining')
    release.resolve()
    for (const { status } of await Promise.all(sent)) expect(status).toBe(400)
    expect(await ended).toEqual([0, null])
    expect(
      linesOf(gateway)
        .flatMap(({ msg, worker }) => (msg === 'stopped' ? [worker] : []))
        .toSorted(),
    ).toEqual([1, 2])
  })

  test('a signal to the whole process group drains once; a second one ends all processes immediately', async () => {
    const gateway = await startWorkers({ delayMs: 100_000, timeoutMs: 20_000 })
    const pids = [pidOf(gateway, 1), pidOf(gateway, 2)]
    const ended = once(gateway.child, 'exit')
    for (const pid of [gateway.child.pid ?? 0, ...pids]) process.kill(pid, 'SIGINT')
    const draining = () => linesOf(gateway).flatMap(({ msg, worker }) => (msg === 'draining' ? [worker] : []))
    await expect.poll(() => draining().toSorted()).toEqual([1, 2])
    expect(pids.map(isAlive)).toEqual([true, true])
    gateway.child.kill('SIGTERM')
    expect(await ended).toEqual([143, null])
    await expect.poll(() => pids.map(isAlive)).toEqual([false, false])
  })

  test('the first process is killed: the workers end, and the port is free', async () => {
    const gateway = await startWorkers()
    const pids = [pidOf(gateway, 1), pidOf(gateway, 2)]
    gateway.child.kill('SIGKILL')
    await expect.poll(() => pids.map(isAlive)).toEqual([false, false])
    expect((await get(gateway.url)).status).toBe(0)
  })

  test('a worker that cannot start again: the other one serves, and attempts become rarer', async () => {
    const gateway = await startWorkers()
    const valid = await readFile(gateway.file, 'utf8')
    await writeFile(gateway.file, dump({ unknown: true }))
    process.kill(pidOf(gateway, 1), 'SIGKILL')
    const delays = () =>
      linesOf(gateway).flatMap(({ msg, delayMs }) => (msg === 'worker ended; another one starts' ? [delayMs] : []))
    await expect.poll(delays, { timeout: 60_000 }).toEqual([250, 500, 1_000])
    expect((await get(gateway.url)).status).toBe(200)
    expect(await readiness(gateway)).toMatchObject({ status: 'ready', workers: { 1: { status: 'unready' } } })
    await writeFile(gateway.file, valid)
    await untilReady(gateway)
    expect(await gateway.stop()).toBe(0)
  })
})

describe('workers that cannot start', { ...needsPostgres(postgres), ...needsRedis(redis) }, () => {
  test('a port in use: one error, and the exit code of the worker', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const address = taken.address()
    const port = typeof address === 'object' ? address?.port : 0
    const child = spawn(process.execPath, ['bin/portico.js', 'serve', '--workers', '3'], {
      cwd: root,
      env: { ...process.env, ...variables, PORT: String(port), OPS_PORT: String(await freePort()), NODE_OPTIONS: '' },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const [errors, ended] = await Promise.all([text(child.stderr), once(child, 'exit')])
    expect(ended).toEqual([1, null])
    expect(errors.match(/cannot listen on listen\.port \(PORT\)/g)).toHaveLength(1)
    taken.close()
  })

  test('SIGTERM while the only process starts: it ends with 143', async () => {
    const silent = createServer().listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const address = silent.address()
    const port = typeof address === 'object' ? address?.port : 0
    const child = spawn(process.execPath, ['bin/portico.js', 'serve', '--workers', '2'], {
      cwd: root,
      env: {
        ...process.env,
        ...variables,
        DATABASE_URL: `postgres://portico@127.0.0.1:${port}/portico`,
        PORT: String(await freePort()),
        NODE_OPTIONS: '',
      },
      stdio: 'ignore',
    })
    const ended = once(child, 'exit')
    const [socket] = await once(silent, 'connection')
    child.kill('SIGTERM')
    expect(await ended).toEqual([143, null])
    socket.destroy()
    silent.close()
  })
})
