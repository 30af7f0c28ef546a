import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  begin,
  client,
  data,
  goodPassword,
  newcomer,
  newEmail,
  refusal,
  register,
  signInAs,
} from '../../harness/identity.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'

const initiate = '/auth/login/initiate'
const send = '/auth/login/mfa/send'
const complete = '/auth/login/complete'

interface Times {
  known: number[]
  unknown: number[]
}

function quantile(values: number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? 0
}
function median(values: number[]): number {
  return quantile(values, 0.5)
}
/** Other work on the machine delays the fastest runs least. */
function quiet(values: number[]): number {
  return quantile(values, 0.2)
}

describe('signing in', needsStore(), () => {
  let portico: Portico
  let email: string
  beforeAll(async () => {
    portico = await startPortico()
    email = (await register(portico)).email
  })
  afterAll(() => portico?.stop())

  const bytes = ({ status, headers, text }: Awaited<ReturnType<ReturnType<typeof client>['post']>>) => ({
    status,
    headers: [...headers].filter(([name]) => !['date', 'x-request-id', 'ratelimit'].includes(name)),
    text: text.replace(/"timestamp":\d+/, ''),
  })

  test('auth.loginInitiate 401 AUTH.INVALID_CREDENTIALS: same bytes for unknown address and wrong password', async () => {
    const by = client(portico)
    const known = await by.post(initiate, { email, password: 'wrong' })
    const unknown = await by.post(initiate, { email: newEmail(), password: 'wrong' })
    const elsewhere = await client(portico, { chain: '/web/v1/system' }).post(initiate, {
      email,
      password: goodPassword,
    })
    expect(refusal(known)).toEqual([401, 'AUTH.INVALID_CREDENTIALS'])
    expect(bytes(unknown)).toEqual(bytes(known))
    expect(refusal(elsewhere)).toEqual([401, 'AUTH.INVALID_CREDENTIALS'])
  })

  /**
   * Measures up to four rounds. Load slows one or the other temporarily, but a real difference appears in every round.
   */
  const measureDifferences = async (
    isFar: (times: Times) => boolean,
    rounds: number,
    attempt: (email: string) => Promise<unknown>,
  ): Promise<Times[]> => {
    const far: Times[] = []
    while (far.length < 4) {
      const times: Times = { known: [], unknown: [] }
      for (let round = 0; round < rounds; round++) {
        for (const kind of ['known', 'unknown'] as const) {
          const started = performance.now()
          await attempt(kind === 'known' ? email : newEmail())
          times[kind].push(performance.now() - started)
          // Work that continues after a response must not slow the next request.
          await new Promise((resolve) => setTimeout(resolve, 20))
        }
      }
      if (!isFar(times)) return []
      far.push(times)
    }
    return far
  }

  test('auth.loginInitiate takes equally long for an unknown and a known address', async () => {
    const by = client(portico)
    const isFar = ({ known, unknown }: Times) => Math.abs(Math.log(quiet(known) / quiet(unknown))) > Math.log(1.7)
    const attempt = (email: string) => by.post(initiate, { email, password: 'wrong' })
    expect(await measureDifferences(isFar, 30, attempt)).toEqual([])
  })

  test.each(['/auth/password/forgot', '/auth/register/initiate'])(
    '%s takes equally long for a known and an unknown address',
    async (path) => {
      const isFar = ({ known, unknown }: Times) =>
        Math.abs(median(known) - median(unknown)) > Math.max(8, median(unknown))
      const attempt = (email: string) => client(portico).post(path, { email, turnstileToken: '' })
      expect(await measureDifferences(isFar, 20, attempt)).toEqual([])
    },
  )

  test.each([1_000_000, ['a'], { a: 1 }, null, '', 'x'.repeat(257)])(
    'auth.loginInitiate 400 for the password %j',
    async (password) => {
      const response = await client(portico).post(initiate, { email, password })
      expect(refusal(response)).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    },
  )

  test('auth.loginInitiate 413 for a password of 1 MB, before hashing', async () => {
    const started = performance.now()
    const response = await client(portico).post(initiate, { email, password: 'x'.repeat(1_000_000) })
    expect(refusal(response)).toEqual([413, 'REQUEST.TOO_LARGE'])
    expect(performance.now() - started).toBeLessThan(20_000)
  })

  test.each([send, complete])('%s 404 AUTH.SESSION_NOT_FOUND and 401 AUTH.CLIENT_MISMATCH', async (path) => {
    const by = client(portico)
    const { sessionId } = data(await by.post(initiate, { email, password: goodPassword }))
    const body = { mfaMethod: 'EMAIL', ...(path === complete && { code: '123456' }) }
    const stolen = await client(portico).post(path, { sessionId, ...body })
    expect(refusal(stolen)).toEqual([401, 'AUTH.CLIENT_MISMATCH'])
    for (const unknown of ['A'.repeat(43), 'mine'])
      expect(refusal(await by.post(path, { sessionId: unknown, ...body }))).toEqual([404, 'AUTH.SESSION_NOT_FOUND'])
  })

  test('auth.loginComplete 401 AUTH.CODE_INVALID: of concurrent requests one opens a session', async () => {
    for (let round = 0; round < 8; round++) {
      const by = client(portico)
      const { sessionId, code } = await begin(portico, by, email)
      const wrong = code === '000000' ? '111111' : '000000'
      const refused = await by.post(complete, { sessionId, mfaMethod: 'EMAIL', code: wrong })
      expect(refusal(refused)).toEqual([401, 'AUTH.CODE_INVALID'])
      const responses = await Promise.all(
        Array.from({ length: 4 }, () => by.post(complete, { sessionId, mfaMethod: 'EMAIL', code })),
      )
      expect(responses.map(({ status }) => status).sort()).toEqual([200, 404, 404, 404])
    }
  })

  test("a new device is reported by mail once, in the account's language; a known device is not", async () => {
    const at = await newcomer(portico)
    const mails = async () => (await portico.mailsTo(at.email)).filter(({ template }) => template === 'new-device')
    await portico.mailTo(at.email, 'new-device')
    const before = (await mails()).length
    expect((await signInAs(portico, at.by, at.email)).isNewDevice).toBe(false)
    const device = client(portico)
    expect((await signInAs(portico, device, at.email)).isNewDevice).toBe(true)
    await expect.poll(async () => (await mails()).length).toBe(before + 1)
    expect((await mails())[0]?.text).toMatch(new RegExp(`Address: ${device.ip}\nDevice: node\n`))
  })

  test("auth.refresh 404 AUTH.SESSION_NOT_FOUND for garbage; another client's token ends no session", async () => {
    const at = await newcomer(portico)
    const { refreshToken } = at.session
    for (const text of ['x', 'A'.repeat(43), at.token])
      expect(refusal(await at.by.post('/auth/token/refresh', { refreshToken: text }))).toEqual([
        404,
        'AUTH.SESSION_NOT_FOUND',
      ])
    const stolen = await client(portico).post('/auth/token/refresh', { refreshToken })
    expect(refusal(stolen)).toEqual([404, 'AUTH.SESSION_NOT_FOUND'])
    const tabs = await Promise.all(Array.from({ length: 4 }, () => at.by.post('/auth/token/refresh', { refreshToken })))
    expect(new Set(tabs.map((tab) => data(tab).refreshToken)).size).toBe(1)
  })

  test('a session id chosen by the client is never adopted', async () => {
    const by = client(portico)
    const sessionId = 'C'.repeat(43)
    const chosen = await by.post(initiate, { email, password: goodPassword, sessionId })
    expect(refusal(chosen)).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    const { sessionId: issued } = data(await by.post(initiate, { email, password: goodPassword }))
    expect(issued).not.toBe(sessionId)
    const response = await by.post(send, { sessionId, mfaMethod: 'EMAIL' })
    expect(refusal(response)).toEqual([404, 'AUTH.SESSION_NOT_FOUND'])
  })

  test.each(['Bearer', 'Bearer ', 'bearer', 'Basic eDp5', 'Token abc'])(
    '401 for «%s» instead of a token',
    async (authorization) => {
      const response = await client(portico).get('/profile', undefined, { authorization })
      expect(refusal(response)).toEqual([401, 'ACCESS.TOKEN_MISSING'])
    },
  )

  test('401 for tokens in the query, a cookie or the body', async () => {
    const at = await newcomer(portico)
    const attempts = [
      await at.by.get(`/profile?access_token=${at.token}`),
      await at.by.get('/profile', undefined, { cookie: `access_token=${at.token}` }),
      await at.by.post('/auth/logout', { access_token: at.token }),
    ]
    for (const response of attempts) expect(refusal(response)).toEqual([401, 'ACCESS.TOKEN_MISSING'])
  })

  test('200 concurrent logins are all answered and leave other routes responsive', async () => {
    const { token, by } = await newcomer(portico)
    const logins = Array.from({ length: 200 }, () =>
      client(portico).post(initiate, { email: newEmail(), password: 'wrong' }),
    )
    let pending = true
    const all = Promise.all(logins).finally(() => {
      pending = false
    })
    const waits: number[] = []
    while (pending) {
      const started = performance.now()
      expect((await by.get('/profile', token)).status).toBe(200)
      waits.push(performance.now() - started)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    const statuses = new Set((await all).map(({ status }) => status))
    expect([...statuses].filter((status) => status !== 401 && status !== 503)).toEqual([])
    expect(median(waits), JSON.stringify(waits)).toBeLessThan(1_000)
  })
})

describe('sign-in under production limits', needsStore(), () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico({
      adjust: (settings) => {
        settings.limits.scale = 1
        settings.limits.groups.login = { address: { limit: 1_000, windowMs: 60_000 } }
      },
    })
  })
  afterAll(() => portico?.stop())

  test('auth.loginInitiate 429 ACCESS.RATE_LIMITED from the 11th failure, from any address, known or not', async () => {
    for (const email of ['member@demo.test', newEmail()]) {
      for (let failure = 0; failure < 10; failure++) {
        const wrong = await client(portico).post(initiate, { email, password: 'wrong' })
        expect(refusal(wrong)).toEqual([401, 'AUTH.INVALID_CREDENTIALS'])
      }
      const upperCased = ` ${email.toUpperCase()}`
      const refused = await client(portico).post(initiate, { email: upperCased, password: 'Portico-demo-2026' })
      expect(refusal(refused)).toEqual([429, 'ACCESS.RATE_LIMITED'])
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50)
    }
  })

  test('registration.verifyEmail 429 from the 11th wrong code for an address, across registrations', async () => {
    for (const email of ['member@demo.test', newEmail()]) {
      const began = async () => {
        const by = client(portico)
        const { sessionId } = data(await by.post('/auth/register/initiate', { email, turnstileToken: '' }))
        return () => by.post('/auth/register/verify-email', { sessionId, code: '12345678' })
      }
      const [first, second, third] = [await began(), await began(), await began()]
      for (const guess of [first, second])
        for (let tried = 0; tried < 5; tried++) expect(refusal(await guess())).toEqual([401, 'AUTH.CODE_INVALID'])
      const refused = await third()
      expect(refusal(refused)).toEqual([429, 'ACCESS.RATE_LIMITED'])
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50)
    }
  })

  test('auth.mfaSend and password.forgot 429 for the sixth mail to one account', async () => {
    const email = 'owner@demo.test'
    for (let sent = 0; sent < 5; sent++) {
      await begin(portico, client(portico), email, 'Portico-demo-2026')
      data(await client(portico).post('/auth/password/forgot', { email, turnstileToken: '' }))
    }
    const by = client(portico)
    const { sessionId } = data(await by.post(initiate, { email, password: 'Portico-demo-2026' }))
    expect(refusal(await by.post(send, { sessionId, mfaMethod: 'EMAIL' }))).toEqual([429, 'ACCESS.RATE_LIMITED'])
    const forgot = await by.post('/auth/password/forgot', { email: email.toUpperCase(), turnstileToken: '' })
    expect(refusal(forgot)).toEqual([429, 'ACCESS.RATE_LIMITED'])
    const unknown = newEmail()
    for (let sent = 0; sent < 5; sent++)
      data(await client(portico).post('/auth/password/forgot', { email: unknown, turnstileToken: '' }))
    const sixth = await client(portico).post('/auth/password/forgot', { email: unknown, turnstileToken: '' })
    expect(refusal(sixth)).toEqual([429, 'ACCESS.RATE_LIMITED'])
  })
})
