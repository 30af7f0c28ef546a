import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Secret } from '../../src/config/index.ts'
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
  toldOf,
} from '../harness/identity.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { codeIn } from '../harness/sign-in.ts'

const initiate = '/auth/register/initiate'
const verify = '/auth/register/verify-email'
const complete = '/auth/register/complete'

describe('open registration', () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico()
  })
  afterAll(() => portico?.stop())

  const started = async (email = newEmail(), by = client(portico)) => {
    const begun = data(await by.post(initiate, { email, turnstileToken: '' }))
    return { email, by, sessionId: String(begun.sessionId), begun }
  }
  const verified = async () => {
    const at = await started()
    const code = codeIn((await portico.mailTo(at.email, 'registration-code')).text)
    data(await at.by.post(verify, { sessionId: at.sessionId, code }))
    return { ...at, code }
  }

  test('200 on each step: the account has a workspace and wallets, can sign in, and gets a mail', async () => {
    const by = client(portico)
    const { email, account } = await register(portico, newEmail(), by)
    expect(account).toMatchObject({ accountStatus: { code: 'ACTIVE', value: 10010202 }, pendingApproval: false })
    const { accessToken: token } = await signInAs(portico, by, email)
    const profile = data(await by.get('/profile', token))
    expect(profile).toMatchObject({
      accountName: 'Nora Newcomer',
      accountEmail: email,
      defaultLanguage: 'en',
      defaultCountry: 'DE',
      defaultTimezone: 'UTC',
    })
    const [own, ...others] = data(await by.get('/workspaces/mine', token))
    expect(others).toEqual([])
    expect(own).toMatchObject({
      isOwner: true,
      isDefault: true,
      workspaceKind: { code: 'LIVE' },
      joinSource: { code: 'REGISTRATION' },
    })
    const wallets = data(await by.get('/wallets', token, { 'x-workspace-id': own.workspaceBizId }))
    const currencies = wallets.map((wallet: { currency: string }) => wallet.currency).sort()
    expect(currencies).toEqual([...portico.settings.money.currencies].sort())
    await toldOf(portico, email, 'password of your account has been set')
  })

  test('registration.complete 200: stores the profile', async () => {
    const { by, sessionId, email } = await verified()
    const profile = {
      accountName: 'Ann',
      accountPhone: '+49 30 901820',
      defaultLanguage: 'ja',
      defaultTimezone: 'Asia/Tokyo',
      defaultCountry: 'JP',
    }
    const { passwordInitToken } = data(await by.post(complete, { sessionId, ...profile }))
    data(await by.post('/auth/password/init', { token: passwordInitToken, newPassword: goodPassword }))
    const { accessToken } = await signInAs(portico, by, email)
    expect(data(await by.get('/profile', accessToken))).toMatchObject({ ...profile, accountPhone: '+4930901820' })
    expect((await portico.mailTo(email, 'security-change')).locale).toBe('ja')
  })

  test('registration.* 200, 409: one account for all forms of an internationalized address', async () => {
    const by = client(portico)
    const canonical = 'eva@xn--bcher-kva.example'
    const { sessionId } = data(await by.post(initiate, { email: 'Eva@Bücher.example', turnstileToken: '' }))
    const code = codeIn((await portico.mailTo(canonical, 'registration-code')).text)
    data(await by.post(verify, { sessionId, code }))
    data(await by.post(complete, { sessionId, accountName: 'Eva', accountPhone: null }))
    data(await by.post(initiate, { email: 'eva@bu\u0308cher.EXAMPLE', turnstileToken: '' }))
    expect((await portico.mailTo(canonical, 'account-exists')).to).toBe(canonical)
  })

  test('registration.initiate: same response for a registered address, which gets a mail instead', async () => {
    const { email } = await register(portico)
    const by = client(portico)
    const strip = ({ status, headers, text }: Awaited<ReturnType<typeof by.post>>) => ({
      status,
      headers: [...headers].filter(([name]) => !['date', 'x-request-id', 'ratelimit'].includes(name)),
      text: text.replace(/"timestamp":\d+/, '').replace(/"sessionId":"[\w-]{43}"/, ''),
    })
    const known = await by.post(initiate, { email: ` ${email.toUpperCase()} `, turnstileToken: '' })
    const unknown = await by.post(initiate, { email: newEmail(), turnstileToken: '' })
    expect(strip(known)).toEqual(strip(unknown))
    const mail = await portico.mailTo(email, 'account-exists')
    expect(mail.text).toContain(portico.settings.publicUrl)
    const { sessionId } = data(known)
    const wrong = await by.post(verify, { sessionId, code: '123456' })
    expect(refusal(wrong)).toEqual([401, 'AUTH.CODE_INVALID'])
  })

  test('registration.verifyEmail 401 AUTH.CODE_INVALID five times, then 404 AUTH.SESSION_NOT_FOUND', async () => {
    const { by, sessionId, email } = await started()
    const code = codeIn((await portico.mailTo(email, 'registration-code')).text)
    const wrong = code === '000000' ? '111111' : '000000'
    for (let attempt = 0; attempt < 5; attempt++)
      expect(refusal(await by.post(verify, { sessionId, code: wrong }))).toEqual([401, 'AUTH.CODE_INVALID'])
    expect(refusal(await by.post(verify, { sessionId, code }))).toEqual([404, 'AUTH.SESSION_NOT_FOUND'])
  })

  test('registration.verifyEmail 200: the fifth attempt counts, and the registration continues', async () => {
    const { by, sessionId, email } = await started()
    const code = codeIn((await portico.mailTo(email, 'registration-code')).text)
    const wrong = code === '000000' ? '111111' : '000000'
    for (let attempt = 0; attempt < 4; attempt++) await by.post(verify, { sessionId, code: wrong })
    expect(data(await by.post(verify, { sessionId, code }))).toEqual({ sessionId, emailVerified: true })
    expect(data(await by.post(complete, { sessionId, accountName: 'Late' })).passwordInitToken).toBeTypeOf('string')
  })

  test.each([verify, complete])('%s 404 AUTH.SESSION_NOT_FOUND, 401 AUTH.CLIENT_MISMATCH', async (path) => {
    const { sessionId, email } = await started()
    await portico.mailTo(email, 'registration-code')
    const body = path === verify ? { code: '123456' } : { accountName: 'Eve' }
    const thief = client(portico)
    expect(refusal(await thief.post(path, { sessionId, ...body }))).toEqual([401, 'AUTH.CLIENT_MISMATCH'])
    for (const unknown of ['A'.repeat(43), 'x', "' OR 1=1 --"])
      expect(refusal(await thief.post(path, { sessionId: unknown, ...body }))).toEqual([404, 'AUTH.SESSION_NOT_FOUND'])
  })

  test('registration.verifyEmail 401 for a code of another registration; 404 for a sign-in', async () => {
    const [first, second] = [await started(), await started()]
    const code = codeIn((await portico.mailTo(second.email, 'registration-code')).text)
    const own = codeIn((await portico.mailTo(first.email, 'registration-code')).text)
    if (code !== own) {
      const result = await first.by.post(verify, { sessionId: first.sessionId, code })
      expect(refusal(result)).toEqual([401, 'AUTH.CODE_INVALID'])
    }
    const { email, by } = await newcomer(portico)
    const login = await begin(portico, by, email)
    const result = await by.post(verify, { sessionId: login.sessionId, code: login.code })
    expect(refusal(result)).toEqual([404, 'AUTH.SESSION_NOT_FOUND'])
    const asLogin = await first.by.post('/auth/login/mfa/send', { sessionId: first.sessionId, mfaMethod: 'EMAIL' })
    expect(refusal(asLogin)).toEqual([404, 'AUTH.SESSION_NOT_FOUND'])
  })

  test('registration.complete 409 STATE.CONFLICT before verification, or once the address has an account', async () => {
    const early = await started()
    const before = await early.by.post(complete, { sessionId: early.sessionId, accountName: 'Early' })
    expect(refusal(before)).toEqual([409, 'STATE.CONFLICT'])
    const email = newEmail()
    const [one, two] = [await started(email), await started(email)]
    const codeMails = async () =>
      (await portico.mailsTo(email)).filter(({ template }) => template === 'registration-code')
    await expect.poll(async () => (await codeMails()).length).toBe(2)
    const codes = (await codeMails()).map(({ text }) => codeIn(text))
    for (const at of [one, two]) {
      for (const code of codes) await at.by.post(verify, { sessionId: at.sessionId, code })
    }
    data(await one.by.post(complete, { sessionId: one.sessionId, accountName: 'One' }))
    const second = await two.by.post(complete, { sessionId: two.sessionId, accountName: 'Two' })
    expect(refusal(second)).toEqual([409, 'STATE.CONFLICT'])
  })

  test('registration.complete 400 for an unknown country: the registration stays usable', async () => {
    const { by, sessionId } = await verified()
    const result = await by.post(complete, { sessionId, accountName: 'Ann', defaultCountry: 'ZZ' })
    expect([result.status, result.body.message]).toEqual([400, expect.stringContaining('defaultCountry')])
    expect((await by.post(complete, { sessionId, accountName: 'Ann', defaultCountry: 'FR' })).status).toBe(200)
  })

  test('registration.complete: of concurrent completions exactly one creates an account', async () => {
    for (let round = 0; round < 8; round++) {
      const { by, sessionId } = await verified()
      const responses = await Promise.all(
        Array.from({ length: 6 }, () => by.post(complete, { sessionId, accountName: 'Race' })),
      )
      const statuses = responses.map(({ status }) => status).sort()
      expect(statuses).toEqual([200, 404, 404, 404, 404, 404])
    }
  })

  test('password.init 404 AUTH.SESSION_NOT_FOUND for a spent token; 400 for a weak password spends nothing', async () => {
    const { by, sessionId } = await verified()
    const { passwordInitToken: token } = data(await by.post(complete, { sessionId, accountName: 'Ann' }))
    for (const newPassword of ['short', 'password1234', 'portico-portico', 'aaaaaaaaaaaa']) {
      const weak = await by.post('/auth/password/init', { token, newPassword })
      expect([weak.status, weak.body.code, weak.body.message], newPassword).toEqual([
        400,
        'VALIDATION.INVALID_PARAMETER',
        expect.stringContaining('newPassword'),
      ])
    }
    const asReset = await by.post('/auth/password/reset', { token, newPassword: goodPassword })
    expect(refusal(asReset)).toEqual([404, 'AUTH.SESSION_NOT_FOUND'])
    expect(data(await by.post('/auth/password/init', { token, newPassword: goodPassword }))).toEqual({ success: true })
    const again = await by.post('/auth/password/init', { token, newPassword: goodPassword })
    expect(refusal(again)).toEqual([404, 'AUTH.SESSION_NOT_FOUND'])
  })
})

describe('registration with approval', () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico({
      adjust: (settings) => {
        settings.portals.CONSUMER.selfRegistration = 'approval'
      },
    })
  })
  afterAll(() => portico?.stop())

  test('auth.loginInitiate: no session while approval is pending, reported only for the right password', async () => {
    const { email, account } = await register(portico)
    expect(account).toMatchObject({ pendingApproval: true, accountStatus: { code: 'PENDING_APPROVAL' } })
    const by = client(portico)
    const begun = data(await by.post('/auth/login/initiate', { email, password: goodPassword }))
    expect(begun).toMatchObject({ sessionId: null, pendingApproval: true, accountStatus: { code: 'PENDING_APPROVAL' } })
    const wrong = await by.post('/auth/login/initiate', { email, password: 'wrong' })
    expect(refusal(wrong)).toEqual([401, 'AUTH.INVALID_CREDENTIALS'])
  })
})

describe('closed registration', () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico({
      adjust: (settings) => {
        settings.portals.CONSUMER.selfRegistration = 'closed'
      },
    })
  })
  afterAll(() => portico?.stop())

  test.each([
    [initiate, { email: newEmail(), turnstileToken: '' }],
    [verify, { sessionId: 'A'.repeat(43), code: '123456' }],
    [complete, { sessionId: 'A'.repeat(43), accountName: 'Ann' }],
  ])('%s 403 AUTH.REGISTRATION_CLOSED', async (path, body) => {
    expect(refusal(await client(portico).post(path, body))).toEqual([403, 'AUTH.REGISTRATION_CLOSED'])
  })
})

describe('Turnstile', () => {
  let portico: Portico
  let server: Server
  let result: (form: URLSearchParams) => { status?: number; body: string; delayMs?: number }
  const forms: URLSearchParams[] = []

  beforeEach(() => {
    forms.length = 0
    // The documented responses of Cloudflare.
    result = (form) => ({
      body: JSON.stringify(
        form.get('response') === 'good'
          ? { success: true, challenge_ts: '2026-01-05T12:00:00Z', hostname: 'example.com', 'error-codes': [] }
          : { success: false, 'error-codes': ['invalid-input-response'] },
      ),
    })
  })
  beforeAll(async () => {
    server = createServer((request, response) => {
      let text = ''
      request.on('data', (chunk) => {
        text += chunk
      })
      request.on('end', () => {
        const form = new URLSearchParams(text)
        forms.push(form)
        const { status = 200, body, delayMs = 0 } = result(form)
        const send = () => response.writeHead(status, { 'content-type': 'application/json' }).end(body)
        setTimeout(send, delayMs).unref()
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    portico = await startPortico({
      adjust: (settings) => {
        const verifyUrl = `http://127.0.0.1:${port}/turnstile/v0/siteverify`
        settings.turnstile = { secret: new Secret('the-secret'), siteKey: 'key', verifyUrl }
      },
    })
  })
  afterAll(async () => {
    await portico?.stop()
    server?.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  const paths = [initiate, '/auth/password/forgot']
  const call = (path: string, turnstileToken: string) => {
    const by = client(portico)
    return by.post(path, { email: newEmail(), turnstileToken }).then((reply) => ({ reply, by }))
  }

  test.each(paths)('%s 200 with a valid token: secret, token and address are sent', async (path) => {
    const { reply, by } = await call(path, 'good')
    expect(reply.status).toBe(200)
    expect(Object.fromEntries(forms[0] ?? [])).toEqual({ secret: 'the-secret', response: 'good', remoteip: by.ip })
  })

  test.each(paths)(
    '%s 400 with field turnstileToken for an invalid token; an empty one is rejected locally',
    async (path) => {
      for (const token of ['bad', '']) {
        const { reply } = await call(path, token)
        expect([...refusal(reply), reply.body.message]).toEqual([
          400,
          'VALIDATION.INVALID_PARAMETER',
          expect.stringContaining('turnstileToken'),
        ])
      }
      expect(forms).toHaveLength(1)
    },
  )

  test.each([
    ['does not respond', { body: '', delayMs: 60_000 }],
    ['responds without JSON', { status: 502, body: '<html>' }],
    ['responds with another schema', { body: '{"ok":true}' }],
    ['rejects our secret', { body: '{"success":false,"error-codes":["invalid-input-secret"]}' }],
    ['reports an internal error', { body: '{"success":false,"error-codes":["internal-error"]}' }],
  ])('503 SYSTEM.UNAVAILABLE when the service %s: fails closed', async (_, profile) => {
    portico.expectFault((line) => JSON.stringify(line).includes('turnstile'))
    result = () => profile
    for (const path of paths) expect(refusal((await call(path, 'good')).reply)).toEqual([503, 'SYSTEM.UNAVAILABLE'])
  })

  afterEach(() => {
    expect(portico.rawLog.join('')).not.toContain('the-secret')
  })
})
