import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { openPage, type Page, signInOn, stepUpOn } from '../../harness/browser.ts'
import type { Call } from '../../harness/http.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { signIn } from '../../harness/sign-in.ts'

const { workspace } = developmentIds
const listed = 'https://app.example'

describe('browser sessions', needsStore(), () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico({
      adjust: ({ portals }) => {
        portals.CONSUMER.origins = [listed]
      },
    })
  })
  afterAll(() => portico?.stop())

  test('browserSessions.start 200: sets an HttpOnly cookie and returns no token', async () => {
    const page = await openPage(portico)
    expect(page.cookie).toMatch(/^portico-consumer=[\w-]{43}$/)
    const self = await page.call('GET', '/security/self')
    expect(self.status).toBe(200)
    expect(self.text).not.toMatch(/token/i)
    const wallets = await page.call('GET', '/wallets', { workspace })
    expect([wallets.status, wallets.body.data.length]).toEqual([200, 3])
  })

  test('browserSessions.start 200: HttpOnly, SameSite=Strict, no domain and no lifetime', async () => {
    const page = await openPage(portico)
    const { headers } = await stepUpOn(portico, page)
    const [value, ...attributes] = headers.getSetCookie()[0]?.split('; ') ?? []
    expect(value).toBe(page.cookie)
    expect(attributes.toSorted()).toEqual(['HttpOnly', 'Path=/', 'SameSite=Strict'])
  })

  test('browserSessions.start 200: ends the session that the browser had, with an audit entry', async () => {
    const page = await openPage(portico, 'member@demo.test')
    const { sessionId } = (await signInOn(portico, page, 'member@demo.test')).body.data
    const { accountBizId } = (await page.call('GET', '/security/self')).body.data
    const { cookie } = page
    const started = await signInOn(portico, page, 'owner@demo.test')
    expect([started.status, page.cookie === cookie]).toEqual([200, false])
    for (let each = 0; each < 2; each++)
      expect((await page.call('GET', '/security/self', { headers: { cookie } })).status).toBe(401)
    expect((await page.call('GET', '/security/self')).status).toBe(200)
    const { accessToken: token } = await signIn(portico, 'operator@demo.test')
    const log = await portico.call('GET', `/web/v1/system/audit-log?targetId=${sessionId}`, { token })
    expect(log.body.data.items).toMatchObject([
      { action: 'browserSessions.end', actorBizId: accountBizId, requestId: started.headers.get('x-request-id') },
    ])
  })

  test('browserSessions.start 200: a replaced session does not count towards the session limit', async () => {
    const pages: Page[] = []
    for (let each = 0; each < portico.settings.sessions.maxConcurrent; each++) pages.push(await openPage(portico))
    const statuses = async () =>
      Promise.all(pages.map(async (each) => (await each.call('GET', '/security/self')).status))
    const all = pages.map(() => 200)
    expect(await statuses()).toEqual(all)
    expect((await signInOn(portico, pages.at(-1) ?? (await openPage(portico)), 'owner@demo.test')).status).toBe(200)
    expect(await statuses()).toEqual(all)
  })

  test('browserSessions.start 401 AUTH.CODE_INVALID: the session that the browser had stays open', async () => {
    const page = await openPage(portico)
    const refused = await signInOn(portico, page, 'member@demo.test', '000000')
    expect([refused.status, refused.body.code]).toEqual([401, 'AUTH.CODE_INVALID'])
    expect((await page.call('GET', '/security/self')).status).toBe(200)
  })

  test('browserSessions.start 200: a session of another client or portal, or of no valid cookie, stays open', async () => {
    const page = await openPage(portico)
    const { cookie } = page
    const value = cookie.split('=')[1]
    for (const headers of [
      { cookie, 'x-client-hash': 'another-client' },
      { cookie: `${cookie}; ${cookie}` },
      { cookie: `portico-system=${value}` },
      { cookie: 'portico-consumer=A' },
    ]) {
      const other: Page = { cookie: '', call: (method, path, call) => page.call(method, path, { ...call, headers }) }
      expect((await signInOn(portico, other, 'member@demo.test')).status).toBe(200)
    }
    expect((await page.call('GET', '/security/self', { headers: { cookie } })).status).toBe(200)
  })

  test('browserSessions.read 200: the facts of the session, or that nobody is signed in', async () => {
    const page = await openPage(portico)
    const { body } = await page.call('GET', '/auth/browser-session', { workspace })
    expect(body.data).toMatchObject({ signedIn: true, portal: 'CONSUMER', workspaceBizId: workspace })
    expect(body.data.permissionCodes).toContain('transfer:create')
    const nobody = await page.call('GET', '/auth/browser-session', { headers: { cookie: 'other=1' } })
    expect([nobody.status, nobody.body.data]).toEqual([200, { signedIn: false }])
    const unknown = await page.call('GET', '/auth/browser-session', {
      headers: { cookie: `portico-consumer=${'A'.repeat(43)}` },
    })
    expect([unknown.status, unknown.body.data]).toEqual([200, { signedIn: false }])
  })

  test('browserSessions.end 200: the session ends on every replica, and the cookie is deleted', async () => {
    const page = await openPage(portico)
    const { cookie } = page
    const ended = await page.call('POST', '/auth/browser-session/end')
    expect([ended.status, ended.body.data]).toEqual([200, { success: true, terminatedSessions: 1 }])
    expect(ended.headers.getSetCookie()).toEqual([expect.stringMatching(/^portico-consumer=; .*Max-Age=0/)])
    for (let each = 0; each < 2; each++)
      expect((await page.call('GET', '/wallets', { headers: { cookie } })).status).toBe(401)
    const again = await page.call('POST', '/auth/browser-session/end', { headers: { cookie } })
    expect(again.body.data).toEqual({ success: true, terminatedSessions: 0 })
  })

  test('auth.logout 200: ends a browser session and deletes its cookie, but no cookie of a session with tokens', async () => {
    const page = await openPage(portico)
    const { headers } = await page.call('POST', '/auth/logout')
    expect(headers.getSetCookie()).toEqual([expect.stringContaining('Max-Age=0')])
    const { accessToken: token } = await signIn(portico, 'member@demo.test')
    const logout = await portico.call('POST', '/web/v1/consumer/auth/logout', { token })
    expect([logout.status, logout.headers.getSetCookie()]).toEqual([200, []])
  })

  test('mfa.stepUp 200: changes the cookie; the old value is still good for parallel requests', async () => {
    const page = await openPage(portico)
    const before = page.cookie
    const { status } = await stepUpOn(portico, page)
    expect([status, page.cookie === before]).toEqual([200, false])
    for (const cookie of [before, page.cookie, before, page.cookie])
      expect((await page.call('GET', '/wallets', { workspace, headers: { cookie } })).status).toBe(200)
  })

  test('password.change 200: changes the cookie and ends the other browser sessions', async () => {
    const [page, other] = [await openPage(portico, 'member@demo.test'), await openPage(portico, 'member@demo.test')]
    await stepUpOn(portico, page, 'member@demo.test')
    const before = page.cookie
    const body = { currentPassword: 'Portico-demo-2026', newPassword: 'Another-demo-2027' }
    const changed = await page.call('POST', '/auth/password/change', { body })
    expect([changed.status, page.cookie === before]).toEqual([200, false])
    expect((await page.call('GET', '/security/self')).status).toBe(200)
    expect((await other.call('GET', '/security/self')).status).toBe(401)
  })

  test('sessions.self 401 ACCESS.TOKEN_INVALID: with another client hash, without ending the session', async () => {
    const page = await openPage(portico)
    const stolen = await page.call('GET', '/security/self', { headers: { 'x-client-hash': 'another-client' } })
    expect([stolen.status, stolen.body.code]).toEqual([401, 'ACCESS.TOKEN_INVALID'])
    expect((await page.call('GET', '/security/self')).status).toBe(200)
  })

  test('sessions.self 401 ACCESS.TOKEN_INVALID: a cookie of the other portal', async () => {
    const page = await openPage(portico)
    const value = page.cookie.split('=')[1]
    const crossed = await portico.call('GET', '/web/v1/system/security/self', {
      headers: { 'sec-fetch-site': 'same-origin', cookie: `portico-system=${value}` },
    })
    expect([crossed.status, crossed.body.code]).toEqual([401, 'ACCESS.TOKEN_INVALID'])
  })

  test('sessions.self 400 ACCESS.COOKIE_INVALID: two cookies, a malformed one, or one with a token', async () => {
    const page = await openPage(portico)
    const { accessToken: token } = await signIn(portico)
    const refused = async (call: Call) => (await page.call('GET', '/security/self', call)).body.code
    const two = `${page.cookie}; portico-consumer=${'A'.repeat(43)}`
    expect(await refused({ headers: { cookie: two } })).toBe('ACCESS.COOKIE_INVALID')
    expect(await refused({ headers: { cookie: `${page.cookie}; ${page.cookie}` } })).toBe('ACCESS.COOKIE_INVALID')
    for (const value of ['', 'A', `"${'A'.repeat(43)}"`, 'A'.repeat(44)])
      expect(await refused({ headers: { cookie: `portico-consumer=${value}` } })).toBe('ACCESS.COOKIE_INVALID')
    expect(await refused({ token })).toBe('ACCESS.COOKIE_INVALID')
  })

  test('sessions.self 403 ACCESS.ORIGIN_NOT_ALLOWED: from other sites and origins, and without Sec-Fetch-Site', async () => {
    const page = await openPage(portico)
    const statusOf = async (headers: Record<string, string | null>) => {
      const { status, body } = await page.call('GET', '/security/self', { headers })
      return status === 200 ? 200 : body.code
    }
    const own = new URL(portico.settings.publicUrl).origin
    for (const allowed of [
      {},
      { origin: own },
      { origin: listed, 'sec-fetch-site': 'same-site' },
      { origin: listed, 'sec-fetch-site': 'cross-site' },
    ])
      expect([allowed, await statusOf(allowed)]).toEqual([allowed, 200])
    for (const foreign of [
      { 'sec-fetch-site': null },
      { 'sec-fetch-site': 'none' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site', origin: own },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: 'https://app.example.evil.example', 'sec-fetch-site': 'cross-site' },
      { origin: 'http://app.example', 'sec-fetch-site': 'cross-site' },
    ])
      expect([foreign, await statusOf(foreign)]).toEqual([foreign, 'ACCESS.ORIGIN_NOT_ALLOWED'])
  })

  test('browserSessions.start 403 ACCESS.ORIGIN_NOT_ALLOWED: another site cannot sign a browser in', async () => {
    const body = { sessionId: 'A'.repeat(43), mfaMethod: 'EMAIL', code: '123456' }
    const { status, body: refusal } = await portico.call('POST', '/web/v1/consumer/auth/browser-session', {
      body,
      headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    })
    expect([status, refusal.code]).toEqual([403, 'ACCESS.ORIGIN_NOT_ALLOWED'])
  })

  test('sessions.selfConfig 200: the cookie also authenticates on the self chain', async () => {
    const page = await openPage(portico)
    const headers = { 'sec-fetch-site': 'same-origin', cookie: page.cookie }
    const path = '/web/v1/users/self/security/sessions/config'
    expect((await portico.call('GET', path, { headers })).status).toBe(200)
    const both = `${page.cookie}; portico-system=${'A'.repeat(43)}`
    expect((await portico.call('GET', path, { headers: { ...headers, cookie: both } })).status).toBe(400)
  })

  test('wallets.list 401 ACCESS.TOKEN_MISSING: machines have no cookies', async () => {
    const page = await openPage(portico)
    const headers = { 'sec-fetch-site': 'same-origin', cookie: page.cookie }
    const { body } = await portico.call('GET', '/api/v1/consumer/wallets', { headers })
    expect(body.code).toBe('ACCESS.TOKEN_MISSING')
  })

  describe('other origins', () => {
    const path = '/web/v1/consumer/wallets'
    const preflight = (origin: string, requested = 'content-type,x-client-hash') =>
      portico.call('OPTIONS', path, {
        headers: {
          origin,
          'access-control-request-method': 'GET',
          'access-control-request-headers': requested,
          'x-portal-access-code': null,
        },
      })

    test('OPTIONS 204: a preflight of a listed origin, cached for two hours', async () => {
      const { status, headers } = await preflight(listed)
      expect(status).toBe(204)
      expect(Object.fromEntries(headers)).toMatchObject({
        'access-control-allow-origin': listed,
        'access-control-allow-credentials': 'true',
        'access-control-allow-headers': 'content-type,x-client-hash',
        'access-control-max-age': '7200',
      })
      expect(headers.get('vary')).toContain('Origin')
    })

    test('OPTIONS 204: has a log line', async () => {
      await preflight(listed, 'x-logged')
      const lines = portico.log.filter(({ method, status }) => method === 'OPTIONS' && status === 204)
      expect(lines.at(-1)).toMatchObject({ msg: 'request', clientIp: '203.0.113.7', requestId: expect.any(String) })
    })

    test('OPTIONS 204: credentials are for the cookie mode only', async () => {
      const { status, headers } = await preflight(listed, 'authorization,x-client-hash')
      expect([status, headers.get('access-control-allow-credentials')]).toEqual([204, null])
    })

    test('OPTIONS 405 ROUTE.METHOD_NOT_ALLOWED: no CORS header for any other origin', async () => {
      for (const origin of ['https://evil.example', 'null', `${listed}.evil.example`, 'http://app.example']) {
        const { status, headers } = await preflight(origin)
        expect([origin, status, headers.get('access-control-allow-origin')]).toEqual([origin, 405, null])
        expect(headers.get('vary')).toContain('Origin')
      }
    })

    test('wallets.list 401 ACCESS.TOKEN_MISSING: the page can read a refusal', async () => {
      const { status, headers } = await portico.call('GET', path, { headers: { origin: listed } })
      expect([status, headers.get('access-control-allow-origin')]).toEqual([401, listed])
      expect(headers.get('access-control-expose-headers')).toContain('X-Request-Id')
      expect(headers.get('vary')).toContain('Origin')
    })

    test('wallets.open 400 VALIDATION.INVALID_PARAMETER: the page can read the invalid fields and all other headers', async () => {
      const page = await openPage(portico)
      const { status, headers } = await page.call('POST', '/wallets', {
        workspace,
        body: {},
        headers: { origin: listed, 'sec-fetch-site': 'same-site' },
      })
      expect([status, headers.get('x-portico-fields')]).toEqual([400, expect.stringContaining('missing')])
      expect(headers.get('access-control-expose-headers')?.split(',')).toEqual(
        expect.arrayContaining(['X-Portico-Fields', 'X-Request-Id', 'Retry-After']),
      )
    })

    test('OPTIONS 405 ROUTE.METHOD_NOT_ALLOWED: the origins of one portal are not those of the other', async () => {
      const { status } = await portico.call('OPTIONS', '/web/v1/system/operators', {
        headers: { origin: listed, 'access-control-request-method': 'GET' },
      })
      expect(status).toBe(405)
    })
  })

  test('browserSessions.start 200: the value before sign-in is not kept', async () => {
    const fixed = `portico-consumer=${'B'.repeat(43)}`
    const page = await openPage(portico)
    expect(page.cookie).not.toBe(fixed)
    const { status } = await page.call('GET', '/security/self', { headers: { cookie: fixed } })
    expect(status).toBe(401)
  })
})
