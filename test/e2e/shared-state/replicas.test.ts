import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { send } from '../../harness/http.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { askRedis } from '../../harness/redis.ts'
import { codeIn, signIn } from '../../harness/sign-in.ts'

const chain = '/web/v1/consumer'

/** Requests alternate between two replicas. */
describe('replicas', needsStore('distributed'), () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico({
      adjust: (settings) => {
        settings.limits.scale = 1
        settings.limits.address.limit = 100_000
        settings.limits.groups.login = { address: { limit: 12, windowMs: 600_000 } }
      },
    })
  })
  afterAll(() => portico?.stop())

  const on = (replica: number, method: string, path: string, call: Parameters<typeof send>[3] = {}) =>
    send(portico.urls[replica] ?? '', method, chain + path, call)
  const profile = async (replica: number, token: string) => (await on(replica, 'GET', '/profile', { token })).status
  const untilRefused = async (replica: number, token: string): Promise<void> => {
    while ((await profile(replica, token)) !== 401) await pause(10)
  }
  /** Cached sessions expire only when `vi.advanceTimersByTime` moves the clock. */
  const withStoppedClock = async (task: () => Promise<void>): Promise<void> => {
    vi.useFakeTimers({ toFake: ['Date'] })
    await task().finally(() => vi.useRealTimers())
  }

  test('an ended session is rejected by its own replica immediately, by the other on its message', async () => {
    const { accessToken: token } = await signIn(portico)
    await withStoppedClock(async () => {
      expect([await profile(0, token), await profile(1, token)]).toEqual([200, 200])
      expect((await on(0, 'POST', '/auth/logout', { token })).body.data.terminatedSessions).toBe(1)
      expect(await profile(0, token)).toBe(401)
      await untilRefused(1, token)
    })
  })

  test('an ended session is rejected within a second even if the message is lost', async () => {
    const { accessToken: token } = await signIn(portico)
    await withStoppedClock(async () => {
      expect([await profile(0, token), await profile(1, token)]).toEqual([200, 200])
      await askRedis(Number(new URL(inject('redisUrl') ?? '').port), 'CLIENT KILL TYPE PUBSUB')
      await on(0, 'POST', '/auth/logout', { token })
      vi.advanceTimersByTime(1_000)
      expect(await profile(1, token)).toBe(401)
    })
  })

  const initiate = async () => {
    const credentials = { email: 'member@demo.test', password: 'Portico-demo-2026' }
    const { body } = await on(0, 'POST', '/auth/login/initiate', { body: credentials })
    const { sessionId } = body.data
    const sent = await on(1, 'POST', '/auth/login/mfa/send', { body: { sessionId, mfaMethod: 'EMAIL' } })
    expect(sent.status, sent.text).toBe(200)
    const code = codeIn((await portico.mailTo('member@demo.test', 'login-code')).text)
    return { sessionId, mfaMethod: 'EMAIL', code }
  }

  test('a code is valid once across replicas', async () => {
    const body = await initiate()
    const both = await Promise.all([0, 1, 0, 1].map((each) => on(each, 'POST', '/auth/login/complete', { body })))
    expect(both.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(1)
  })

  test('the session limit applies across replicas', async () => {
    const { accessToken } = await signIn(portico, 'member@demo.test')
    const settled = await on(0, 'POST', '/security/sessions/config', {
      token: accessToken,
      body: { maxConcurrentSessions: 2 },
    })
    expect(settled.status, settled.text).toBe(200)
    const logins = [await initiate(), await initiate()]
    const done = await Promise.all(logins.map((body, each) => on(each, 'POST', '/auth/login/complete', { body })))
    const tokens = [accessToken, ...done.map(({ body }) => body.data?.accessToken)]
    const alive = async () => {
      const statuses = await Promise.all(tokens.flatMap((token) => [profile(0, token), profile(1, token)]))
      return statuses.filter((status) => status === 200).length
    }
    await expect.poll(alive).toBe(4)
  })

  test('a rate limit applies across replicas', async () => {
    const attempt = async () =>
      (
        await portico.call('POST', `${chain}/auth/login/initiate`, {
          body: { email: 'a@b.test', password: 'wrong pw' },
        })
      ).status
    const statuses: number[] = []
    while (!statuses.includes(429) && statuses.length < 20) statuses.push(await attempt())
    expect(await Promise.all([attempt(), attempt()])).toEqual([429, 429])
    expect(statuses.filter((status) => status !== 429).length).toBeLessThan(12)
  })
})
