import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { begin, client, data, goodPassword, register, signInAs } from '../harness/identity.ts'
import { needsStore } from '../harness/needs.ts'
import { type Portico, startPortico } from '../harness/portico.ts'

describe('concurrent sign-ins', needsStore(), () => {
  let portico: Portico
  let email: string
  beforeAll(async () => {
    portico = await startPortico({
      adjust: (settings) => {
        settings.login.concurrency = 1
        settings.login.queue = 1
      },
    })
    portico.expectFault(({ code }) => code === 'SYSTEM.UNAVAILABLE')
    email = (await register(portico)).email
  })
  afterAll(() => portico?.stop())

  const startLogins = () =>
    Promise.all(
      Array.from({ length: 30 }, () => client(portico).post('/auth/login/initiate', { email, password: goodPassword })),
    )

  test('auth.loginInitiate 503 with Retry-After above the queue limit; none of them counts as a failure', async () => {
    const responses = await startLogins()
    const served = responses.filter(({ status }) => status === 200)
    const refused = responses.filter(({ status }) => status !== 200)
    expect(served.length).toBeGreaterThanOrEqual(2)
    expect(refused.length).toBeGreaterThanOrEqual(10)
    for (const { status, body, headers } of refused)
      expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'SYSTEM.UNAVAILABLE', '1'])
    expect((await signInAs(portico, client(portico), email)).accessToken).toEqual(expect.any(String))
  })

  test('portico_waiting counts queued sign-ins', async () => {
    const waiting = async () => {
      const text = await (await fetch(`${portico.operationsUrl}/metrics`)).text()
      return Number(/^portico_waiting\{queue="login-begin"\} (\d+)$/m.exec(text)?.[1])
    }
    expect(await waiting()).toBe(0)
    const seen = new Set<number>()
    const fillQueue = async () => {
      while (!seen.has(1)) await startLogins()
    }
    const rushing = fillQueue()
    while (!seen.has(1)) seen.add(await waiting())
    await rushing
    expect(Math.max(...seen)).toBe(1)
    await expect.poll(waiting).toBe(0)
  })

  test('auth.loginComplete 200 while the queue of new sign-ins is full', async () => {
    const by = client(portico)
    const { sessionId, code } = await begin(portico, by, email)
    const [responses, completed] = await Promise.all([
      startLogins(),
      by.post('/auth/login/complete', { sessionId, mfaMethod: 'EMAIL', code }),
    ])
    expect(responses.filter(({ status }) => status === 503).length).toBeGreaterThanOrEqual(10)
    expect(data(completed).accessToken).toEqual(expect.any(String))
  })
})
