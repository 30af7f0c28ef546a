import { createHash } from 'node:crypto'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Secret } from '../../../src/config/index.ts'
import { requiredHeaders } from '../../harness/http.ts'
import {
  begin,
  client,
  data,
  goodPassword,
  linkToken,
  newcomer,
  newEmail,
  otherPassword,
  refusal,
  register,
  signInAs,
  toldOf,
} from '../../harness/identity.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { inMode, type PorticoInMode, sessionModes } from '../../harness/session-modes.ts'
import { signIn } from '../../harness/sign-in.ts'

const forgot = '/auth/password/forgot'
const reset = '/auth/password/reset'
const change = '/auth/password/change'

describe('passwords', needsStore(), () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico({
      adjust: ({ passwords }) => {
        // No factor is so young that a reset removes it.
        passwords.suspicionWindowMs = 0
      },
    })
  })
  afterAll(() => portico?.stop())

  /** Some entries are written after the response. */
  const audited = async (action: string, accountId: string) => {
    const { accessToken: token } = await signIn(portico, 'operator@demo.test')
    const path = `/web/v1/system/audit-log?action=${action}&targetId=${accountId}`
    const entries = async () => data(await portico.call('GET', path, { token })).items
    await expect.poll(entries).not.toEqual([])
    return entries()
  }

  const mailedToken = async (email: string, by = client(portico)) => {
    const links = async () => (await portico.mailsTo(email)).filter(({ template }) => template === 'password-reset')
    const before = (await links()).length
    data(await by.post(forgot, { email, turnstileToken: '' }))
    await expect.poll(async () => (await links()).length).toBe(before + 1)
    return linkToken((await links())[0]?.text ?? '')
  }

  describe.each(sessionModes)('by %s', (mode) => {
    let gateway: PorticoInMode
    beforeAll(() => {
      gateway = inMode(portico, mode)
    })

    test('password.reset 200 ends every session, leaves second factors in force, and sends a mail', async () => {
      const { email, by, token } = await newcomer(gateway)
      const other = client(gateway)
      const second = await signInAs(gateway, other, email)
      const setup = data(await by.post('/security/mfa/backup-codes/generate', undefined, token))
      const reply = await by.post(reset, { token: await mailedToken(email), newPassword: otherPassword })
      expect(data(reply)).toEqual({ success: true, terminatedSessions: 2 })
      expect(refusal(await by.get('/profile', token))).toEqual([401, 'ACCESS.TOKEN_INVALID'])
      expect(refusal(await other.get('/profile', second.accessToken))).toEqual([401, 'ACCESS.TOKEN_INVALID'])
      if (mode === 'token') {
        const refreshed = await other.post('/auth/token/refresh', { refreshToken: second.refreshToken })
        expect(refusal(refreshed)).toEqual([404, 'AUTH.SESSION_NOT_FOUND'])
      }
      const old = await by.post('/auth/login/initiate', { email, password: goodPassword })
      expect(refusal(old)).toEqual([401, 'AUTH.INVALID_CREDENTIALS'])
      const { sessionId, mfaMethods } = data(await by.post('/auth/login/initiate', { email, password: otherPassword }))
      expect(mfaMethods.map(({ code }: { code: string }) => code)).toEqual(['EMAIL', 'BACKUP_CODE'])
      const factor = { mfaMethod: 'BACKUP_CODE', code: setup.codes[0] }
      expect((await by.post('/auth/login/complete', { sessionId, ...factor })).status).toBe(200)
      await toldOf(gateway, email, 'has been reset with a link that we mailed')
    })

    test('password.change 200 ends the other sessions, not this one, and sends a mail', async () => {
      const { email, by, token } = await newcomer(gateway)
      const other = client(gateway)
      const second = await signInAs(gateway, other, email)
      const body = { currentPassword: goodPassword, newPassword: otherPassword }
      const changed = data(await by.post(change, body, token))
      expect(changed).toEqual({ success: true, terminatedSessions: 1, passwordChangedAt: expect.any(String) })
      expect((await by.get('/profile', token)).status).toBe(200)
      expect(refusal(await other.get('/profile', second.accessToken))).toEqual([401, 'ACCESS.TOKEN_INVALID'])
      const config = data(await by.get('/security/sessions/config', token))
      expect(config.passwordChangedAt).toBe(changed.passwordChangedAt)
      await begin(gateway, client(gateway), email, otherPassword)
      await toldOf(gateway, email, 'password of your account has been changed')
    })
  })

  test('password.forgot 200: same bytes, known or not; the link has the configured origin for any Host', async () => {
    const { email } = await register(portico)
    const by = client(portico)
    const strip = ({ status, headers, text }: Awaited<ReturnType<typeof by.post>>) => ({
      status,
      headers: [...headers].filter(([name]) => !['date', 'x-request-id', 'ratelimit'].includes(name)),
      text: text.replace(/"timestamp":\d+/, ''),
    })
    const poisoned = { 'x-forwarded-host': 'evil.test', forwarded: 'host=evil.test', origin: 'https://evil.test' }
    const known = await by.post(forgot, { email: email.toUpperCase(), turnstileToken: '' }, undefined, poisoned)
    const unknown = await by.post(forgot, { email: newEmail(), turnstileToken: '' }, undefined, poisoned)
    expect(known.status).toBe(200)
    expect(strip(known)).toEqual(strip(unknown))
    const mail = await portico.mailTo(email, 'password-reset')
    expect(mail.text).toContain(
      `${portico.settings.publicUrl}${portico.settings.portals.CONSUMER.links.passwordReset}#token=`,
    )
    expect(mail.text + mail.html).not.toContain('evil.test')
    expect(portico.rawLog.join('')).not.toContain(linkToken(mail.text))
  })

  test("password.forgot 200: the audit log has the account and the client's address", async () => {
    const { email, accountId } = await register(portico)
    const by = client(portico)
    data(await by.post(forgot, { email, turnstileToken: '' }))
    const entries = await audited('password.forgot', accountId)
    expect(entries).toMatchObject([{ actorBizId: null, clientIp: by.ip, outcome: { code: 'SUCCESS' } }])
  })

  test('password.forgot: a forged Host never reaches a mail', async () => {
    const { email } = await register(portico)
    const headers = { ...requiredHeaders(), host: 'evil.test' }
    const { hostname, port } = new URL(portico.url)
    const body = JSON.stringify({ email, turnstileToken: '' })
    const status = await new Promise((resolve, reject) => {
      request({ hostname, port, method: 'POST', path: `/web/v1/consumer${forgot}`, headers }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
        .on('error', reject)
        .end(body)
    })
    expect(status).toBe(200)
    const mail = await portico.mailTo(email, 'password-reset')
    expect(mail.text).toContain(
      `${portico.settings.publicUrl}${portico.settings.portals.CONSUMER.links.passwordReset}#token=`,
    )
    expect(mail.text + mail.html).not.toContain('evil.test')
  })

  test('password.forgot: the mail is in the language of the request', async () => {
    const { email } = await register(portico)
    const reply = await client(portico).post(forgot, { email, turnstileToken: '' }, undefined, { 'x-locale': 'vi' })
    expect(data(reply).message).toMatch(/liên kết đặt mật khẩu/)
    expect((await portico.mailTo(email, 'password-reset')).subject).toBe('Đặt mật khẩu mới')
  })

  test('password.reset 404 AUTH.SESSION_NOT_FOUND: unknown, spent, of another portal; revokes other links', async () => {
    const { email } = await register(portico)
    const by = client(portico)
    const [first, second] = [await mailedToken(email), await mailedToken(email)]
    expect(first).not.toBe(second)
    const system = client(portico, { chain: '/web/v1/system' })
    for (const [requester, token] of [
      [by, 'A'.repeat(43)],
      [by, "' OR 1=1"],
      [system, second],
    ] as const) {
      const reply = await requester.post(reset, { token, newPassword: otherPassword })
      expect(refusal(reply)).toEqual([404, 'AUTH.SESSION_NOT_FOUND'])
    }
    const weak = await by.post(reset, { token: second, newPassword: 'password123' })
    expect(refusal(weak)).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    const responses = await Promise.all(
      Array.from({ length: 5 }, () => by.post(reset, { token: second, newPassword: otherPassword })),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 404, 404, 404, 404])
    expect(refusal(await by.post(reset, { token: first, newPassword: otherPassword }))[0]).toBe(404)
  })

  test.each(['reset', 'init'])('password.%s 400 for fewer than eight characters, with any token', async (step) => {
    const reply = await client(portico).post(`/auth/password/${step}`, {
      token: 'A'.repeat(43),
      newPassword: 'Short-7',
    })
    expect([reply.status, reply.body.message]).toEqual([400, expect.stringContaining('newPassword')])
  })

  test('password.change 200 ends pending sign-ins: auth.loginComplete 404 AUTH.SESSION_NOT_FOUND', async () => {
    const { email, by, token } = await newcomer(portico)
    const thief = client(portico)
    const { sessionId, code } = await begin(portico, thief, email)
    data(await by.post(change, { currentPassword: goodPassword, newPassword: otherPassword }, token))
    const completed = await thief.post('/auth/login/complete', { sessionId, mfaMethod: 'EMAIL', code })
    expect(refusal(completed)).toEqual([404, 'AUTH.SESSION_NOT_FOUND'])
  })

  test('password.change 401 AUTH.INVALID_CREDENTIALS, 400 for a weak or the same password', async () => {
    const { accountId, by, token } = await newcomer(portico)
    const wrong = await by.post(change, { currentPassword: 'wrong', newPassword: otherPassword }, token)
    expect(refusal(wrong)).toEqual([401, 'AUTH.INVALID_CREDENTIALS'])
    const expected = { outcome: { code: 'REFUSED' }, clientIp: by.ip, detail: { reason: 'INVALID_CREDENTIALS' } }
    expect(await audited('password.change', accountId)).toMatchObject([{ actorBizId: accountId, ...expected }])
    for (const newPassword of ['short', 'letmein123', goodPassword]) {
      const reply = await by.post(change, { currentPassword: goodPassword, newPassword }, token)
      expect([reply.status, reply.body.message], newPassword).toEqual([400, expect.stringContaining('newPassword')])
    }
  })

  test('password.change: of concurrent changes exactly one succeeds', async () => {
    const { by, token } = await newcomer(portico)
    let current = goodPassword
    for (let round = 0; round < 5; round++) {
      const wanted = Array.from({ length: 4 }, (_, each) => `${otherPassword}-${round}-${each}`)
      const responses = await Promise.all(
        wanted.map((newPassword) => by.post(change, { currentPassword: current, newPassword }, token)),
      )
      expect(responses.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401])
      current = wanted[responses.findIndex(({ status }) => status === 200)] ?? ''
    }
  })

  test('a password is used completely and in NFKC: 64 characters and more are not truncated', async () => {
    const { by, email, token } = await newcomer(portico)
    const long = `${'Zürich-Ångström '.repeat(8)}tail-`
    data(await by.post(change, { currentPassword: goodPassword, newPassword: `${long}a` }, token))
    for (const password of [`${long}b`, long])
      expect((await by.post('/auth/login/initiate', { email, password })).status).toBe(401)
    const decomposed = `${long}a`.normalize('NFKD')
    expect((await by.post('/auth/login/initiate', { email, password: decomposed })).status).toBe(200)
  })

  test('operators reset and change passwords on their own portal', async () => {
    const system = client(portico, { chain: '/web/v1/system' })
    const email = 'checker@demo.test'
    data(await system.post(forgot, { email, turnstileToken: '' }))
    const { text } = await portico.mailTo(email, 'password-reset')
    data(await system.post(reset, { token: linkToken(text), newPassword: otherPassword }))
    const { accessToken } = await signInAs(portico, system, email, otherPassword)
    const body = { currentPassword: otherPassword, newPassword: goodPassword }
    expect(data(await system.post(change, body, accessToken)).success).toBe(true)
    expect((await client(portico).post(forgot, { email, turnstileToken: '' })).status).toBe(200)
    await new Promise((resolve) => setTimeout(resolve, 500))
    const links = (await portico.mailsTo(email)).filter(({ template }) => template === 'password-reset')
    expect(links).toHaveLength(1)
  })
})

describe('the breach check, where enabled', needsStore(), () => {
  let portico: Portico
  let server: Server
  const ranges: string[] = []
  const breached = 'Quartz-Lemon-Harbour-9'
  const digest = createHash('sha1').update(breached).digest('hex').toUpperCase()
  let broken = false

  beforeAll(async () => {
    server = createServer((request, response) => {
      ranges.push(request.url ?? '')
      if (broken) return response.writeHead(500).end('no')
      return response.end(`0018A45C4D1DEF81644B54AB7F969B88D65:0\r\n${digest.slice(5)}:42\r\n`)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    portico = await startPortico({
      adjust: (settings) => {
        settings.passwords.breachCheck = { url: new Secret(`http://127.0.0.1:${port}/range/`) }
      },
    })
  })
  afterAll(async () => {
    await portico?.stop()
    await new Promise((resolve) => server.close(resolve))
  })

  test('400 for a breached password: sends five hex digits of its SHA-1; passes, with a log line, on failure', async () => {
    const { accessToken } = await signIn(portico)
    const body = { currentPassword: 'Portico-demo-2026', newPassword: breached }
    const call = () => portico.call('POST', '/web/v1/consumer/auth/password/change', { body, token: accessToken })
    expect(refusal(await call())).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    expect(ranges).toEqual([`/range/${digest.slice(0, 5)}`])
    broken = true
    expect((await call()).status).toBe(200)
    expect(portico.log.filter(({ dependency }) => dependency === 'breach check')).toHaveLength(1)
  })
})
