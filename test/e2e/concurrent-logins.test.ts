import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { begin, client, data, goodPassword, newEmail, register, signInAs } from '../harness/identity.ts'
import { type Portico, startPortico } from '../harness/portico.ts'

describe('concurrent sign-ins', () => {
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
    // Known and unknown clients have a queue of 1 each.
    expect(Math.max(...seen)).toBeLessThanOrEqual(2)
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

describe('a flood of sign-ins from many networks', () => {
  let portico: Portico
  let email: string
  const flooding = 24
  beforeAll(async () => {
    portico = await startPortico({
      adjust: (settings) => {
        settings.login.concurrency = 1
        settings.login.queue = 40
        settings.limits.scale = 1
        settings.limits.groups.login = { ...settings.limits.groups.login, network: { limit: 3, windowMs: 600_000 } }
      },
    })
    email = (await register(portico)).email
  })
  afterAll(() => portico?.stop())

  const initiate = (address: string, clientHash: string, password = 'wrong', to = email) =>
    portico.call('POST', '/web/v1/consumer/auth/login/initiate', {
      headers: { 'cf-connecting-ip': address, 'x-client-hash': clientHash },
      body: { email: to, password },
    })

  test('auth.loginInitiate 200: a known device overtakes the unknown ones that wait', async () => {
    const by = client(portico)
    await signInAs(portico, by, email)
    const finished: string[] = []
    const record = async (name: string, answer: Promise<{ status: number }>) => {
      const { status } = await answer
      finished.push(name)
      return status
    }
    // Each replica has its own queue, so the known device signs in at each.
    const started = portico.urls.flatMap((_url, replica) =>
      Array.from({ length: flooding }, (_, at) =>
        record('unknown', initiate(`2001:db8:${replica}${at}::1`, `unknown-${replica}-${at}`)),
      ),
    )
    const known = portico.urls.map(() => record('known', initiate('2001:db8:ffff::1', by.hash, goodPassword)))
    expect(new Set(await Promise.all(known))).toEqual(new Set([200]))
    await Promise.all(started)
    expect(finished.lastIndexOf('known')).toBeLessThan((finished.length * 2) / 3)
  })

  test('auth.loginInitiate 429 ACCESS.RATE_LIMITED: a /48 is limited over all its /56; others sign in', async () => {
    // The first test has locked the account for unknown devices.
    const other = newEmail()
    const statuses: number[] = []
    for (const part of ['0', '100', '200', '300'])
      statuses.push((await initiate(`2001:db8:aaaa:${part}::1`, `part-${part}`, 'wrong', other)).status)
    expect(statuses).toEqual([401, 401, 401, 429])
    expect((await initiate('2001:db8:bbbb::1', 'elsewhere', 'wrong', other)).status).toBe(401)
  })
})
