import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needsPostgres, needsRedis } from '../harness/needs.ts'
import { seededPostgres } from '../harness/prepared-postgres.ts'
import { type PorticoProcess, startProcess } from '../harness/process.ts'
import { fillRedis, startRedis } from '../harness/redis.ts'
import { startRelay } from '../harness/relay.ts'
import { codeIn } from '../harness/sign-in.ts'
import { type Attempt, createClient, sendRequest, signedIn, transfer } from './client.ts'
import { checkBook, settleAll } from './invariants.ts'

const postgres = await seededPostgres()
const redis = await startRedis()
const relay = redis && (await startRelay(Number(new URL(redis.url).port)))
afterAll(async () => {
  await relay?.close()
  await redis?.stop()
  await postgres?.stop()
})

describe('Redis fails', { ...needsPostgres(postgres), ...needsRedis(redis) }, () => {
  let gateway: PorticoProcess
  const client = createClient(() => [gateway])
  const chain = '/web/v1/consumer/auth/login'
  const credentials = { email: 'member@demo.test', password: 'Portico-demo-2026' }
  /** Needed to settle the wallet. */
  const attempts: Attempt[] = []
  const tried = async (...by: Parameters<typeof transfer>): Promise<number> => {
    const attempt = await transfer(...by)
    attempts.push(attempt)
    return attempt.status
  }
  const initiate = () => client.call('POST', `${chain}/initiate`, { body: credentials })

  beforeAll(async () => {
    gateway = await startProcess({
      DATABASE_URL: postgres?.url ?? '',
      REDIS_URL: relay ? `redis://127.0.0.1:${relay.port}` : '',
      PORTICO_RATE_LIMIT_SCALE: '1000',
      LOG_LEVEL: 'error',
    })
  })
  afterAll(() => gateway?.stop())

  const pausedFor = async (work: () => Promise<void>): Promise<number> => {
    redis?.child.kill('SIGSTOP')
    try {
      await work()
    } finally {
      redis?.child.kill('SIGCONT')
    }
    const resumed = performance.now()
    await expect.poll(async () => (await initiate()).status, { timeout: 20_000, interval: 50 }).toBe(200)
    return performance.now() - resumed
  }

  test('paused: credential routes are 503 by the command timeout, money stays consistent, and all recovers', async () => {
    const user = await signedIn(client)
    expect(await tried(user)).toBe(200)
    const [refusals, returns]: [number[], number[]] = [[], []]
    const whilePaused = async () => {
      for (let time = 0; time < 3; time++) {
        const start = performance.now()
        expect((await initiate()).status).toBe(503)
        refusals.push(performance.now() - start)
      }
      expect(await tried(user)).toBe(503)
      expect((await fetch(`${gateway.operationsUrl}/health/live`)).status).toBe(200)
      expect((await fetch(`${gateway.operationsUrl}/health/ready`)).status).toBe(503)
      const metrics = await (await fetch(`${gateway.operationsUrl}/metrics`)).text()
      expect(metrics).toContain('portico_ready{check="cache"} 0\n')
      expect(metrics).toContain('portico_ready{check="store"} 1\n')
      // Long enough to close a silent connection, too.
      await new Promise((resolve) => setTimeout(resolve, 5_000))
    }
    // Other load can slow a run, so the fastest of three counts.
    while (returns.length < 3 && Math.min(...returns) > 2_000) returns.push(await pausedFor(whilePaused))
    // This is earlier than the silence timeout.
    expect(Math.min(...refusals)).toBeLessThan(3_500)
    expect(Math.min(...returns)).toBeLessThan(10_000)
    expect((await fetch(`${gateway.operationsUrl}/health/ready`)).status).toBe(200)
    await checkBook({ url: postgres?.url ?? '' }, await settleAll(user, attempts))
  })

  test('a firewall forgets the connections: credential and money routes work again after one command timeout', async () => {
    const user = await signedIn(client)
    const takenMs: number[] = []
    // Other load can slow a round, so the fastest of three counts.
    while (takenMs.length < 3 && Math.min(...takenMs) > 2_500) {
      relay?.silence()
      const start = performance.now()
      expect((await initiate()).status).toBe(503)
      await expect.poll(async () => (await initiate()).status, { interval: 50 }).toBe(200)
      takenMs.push(performance.now() - start)
    }
    // 4 seconds of silence would also close them.
    expect(Math.min(...takenMs)).toBeLessThan(3_500)
    expect(await tried(user)).toBe(200)
  })

  test('full: credential and money routes are 503 without effect, and recover once memory is free', async () => {
    const user = await signedIn(client)
    expect(await tried(user)).toBe(200)
    expect(await redis?.sendRequest('CONFIG SET maxmemory 16mb')).toBe('+OK')
    const makeRoom = await fillRedis(redis)
    for (let time = 0; time < 3; time++) {
      expect((await initiate()).status).toBe(503)
      expect(await tried(user)).toBe(503)
      expect((await sendRequest(user, 'GET', '/profile')).status).toBe(503)
    }
    expect((await fetch(`${gateway.operationsUrl}/health/live`)).status).toBe(200)
    expect((await fetch(`${gateway.operationsUrl}/health/ready`)).status).toBe(503)
    await makeRoom()
    expect((await fetch(`${gateway.operationsUrl}/health/ready`)).status).toBe(200)
    expect((await initiate()).status).toBe(200)
    expect(await tried(user)).toBe(200)
    await redis?.sendRequest('CONFIG SET maxmemory 0')
    await checkBook({ url: postgres?.url ?? '' }, await settleAll(user, attempts))
  })

  test.each(['FLUSHALL', 'SCRIPT FLUSH'])(
    '%s: used codes stay used, ended sessions ended, and work goes on',
    async (command) => {
      const { sessionId } = (await initiate()).body.data
      await client.call('POST', `${chain}/mfa/send`, { body: { sessionId, mfaMethod: 'EMAIL' } })
      const code = codeIn((await client.mailTo(credentials.email)).text)
      const complete = () => client.call('POST', `${chain}/complete`, { body: { sessionId, mfaMethod: 'EMAIL', code } })
      const done = await complete()
      expect(done.status, done.text).toBe(200)
      const user = { client, token: done.body.data.accessToken }
      await sendRequest(user, 'POST', '/auth/logout')
      expect(await redis?.sendRequest(command)).toBe('+OK')
      expect((await complete()).status).toBe(404)
      expect((await sendRequest(user, 'GET', '/profile')).status).toBe(401)
      expect((await initiate()).status).toBe(200)
    },
  )
})
