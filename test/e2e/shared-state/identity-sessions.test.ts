import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { unknownId } from '../../harness/catalogue.ts'
import { postWithDelayedEnd } from '../../harness/delayed-post.ts'
import { begin, client, data, newcomer, refusal, register, signInAs } from '../../harness/identity.ts'
import { encodeMultipart, pdf } from '../../harness/multipart.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { inMode, type PorticoInMode, sessionModes } from '../../harness/session-modes.ts'
import { signIn } from '../../harness/sign-in.ts'

const config = '/security/sessions/config'
const self = '/web/v1/users/self/security/sessions/config'

describe('sessions', needsStore(), () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico()
  })
  afterAll(() => portico?.stop())

  /** Other replicas reject an ended session within a second (docs/security.md). */
  const isRefused = async (status: () => Promise<number>): Promise<void> => {
    if (inject('topology') === 'distributed') await expect.poll(status).toBe(401)
    else expect(await status()).toBe(401)
  }

  describe.each(sessionModes)('by %s', (mode) => {
    let gateway: PorticoInMode
    beforeAll(() => {
      gateway = inMode(portico, mode)
    })

    test('sessions.list 200: live sessions, the current one marked; sessions.terminate 200 ends another one', async () => {
      const { by, email, token, session } = await newcomer(gateway)
      const other = client(gateway)
      const second = await signInAs(gateway, other, email)
      const list = data(await by.get('/security/sessions', token))
      expect(list).toHaveLength(2)
      expect(list[0]).toMatchObject({ sessionId: second.sessionId, clientIp: other.ip, isCurrent: false })
      expect(list[1]).toMatchObject({ sessionId: session.sessionId, clientIp: by.ip, isCurrent: true })
      expect(list[1].loginTime).toMatch(/^\d{4}-.*Z$/)
      expect(list[1].userAgent).toBe('node')
      const ended = await by.post('/security/sessions/terminate', { sessionId: second.sessionId }, token)
      expect([ended.status, ended.body.data]).toEqual([200, null])
      expect(refusal(await other.get('/profile', second.accessToken))).toEqual([401, 'ACCESS.TOKEN_INVALID'])
      expect(data(await by.get('/security/sessions', token))).toHaveLength(1)
    })

    test('sessions.terminate 404 RESOURCE.NOT_FOUND: same bytes for unknown, ended, invented and foreign ids', async () => {
      const { by, token, session } = await newcomer(gateway)
      const stranger = await newcomer(gateway)
      const own = await signInAs(gateway, client(gateway), stranger.email)
      await stranger.by.post('/security/sessions/terminate', { sessionId: own.sessionId }, stranger.token)
      const texts = new Set<string>()
      for (const sessionId of [unknownId, own.sessionId, stranger.session.sessionId, 'x', "' OR 1=1 --"]) {
        const response = await by.post('/security/sessions/terminate', { sessionId }, token)
        expect(refusal(response)).toEqual([404, 'RESOURCE.NOT_FOUND'])
        texts.add(response.text.replace(/"timestamp":\d+/, ''))
      }
      expect(texts.size).toBe(1)
      expect((await stranger.by.get('/profile', stranger.token)).status).toBe(200)
      const itself = await by.post('/security/sessions/terminate', { sessionId: session.sessionId }, token)
      expect(itself.status).toBe(200)
      await isRefused(async () => (await by.get('/profile', token)).status)
    })

    test('profile.update 401 and files.upload 401: a delayed body does not outlive the session', async () => {
      const { by, email, token, session } = await newcomer(gateway)
      const own = await signInAs(gateway, client(gateway, { hash: by.hash }), email)
      const ended = Promise.withResolvers<void>()
      const begin = (path: string, bytes: Uint8Array, more: Record<string, string> = {}) => {
        const headers = { 'x-client-hash': by.hash, ...gateway.credentials(token), ...more }
        return postWithDelayedEnd(gateway.url + by.chain + path, { headers, bytes }, ended.promise)
      }
      const form = encodeMultipart([
        { name: 'purpose', content: 'DOCUMENT' },
        { name: 'file', content: pdf(), fileName: 'late.pdf', type: 'application/pdf' },
      ])
      const update = begin('/profile/update', Buffer.from('{"accountName":"Still Here"}'))
      const upload = begin('/files/upload', form.body, form.headers)
      // Wait until both requests have been authenticated.
      await pause(100)
      data(await by.post('/security/sessions/terminate', { sessionId: session.sessionId }, own.accessToken))
      for (let replica = 0; replica < gateway.urls.length; replica++)
        await isRefused(async () => (await by.get('/profile', token)).status)
      await pause(gateway.settings.access.leaseMs + 50)
      ended.resolve()
      const refused = { status: 401, body: { code: 'ACCESS.TOKEN_INVALID' } }
      expect(await Promise.all([update, upload])).toMatchObject([refused, refused])
      expect(data(await by.get('/profile', own.accessToken)).accountName).toBe('Nora Newcomer')
    })

    test('sessions.terminateAll 200 ends every session except the current one', async () => {
      const { by, email, token } = await newcomer(gateway)
      const others = []
      for (let each = 0; each < 3; each++) {
        const device = client(gateway)
        others.push({ device, session: await signInAs(gateway, device, email) })
      }
      const response = data(await by.post('/security/sessions/terminate-all', undefined, token))
      expect(response).toEqual({ success: true, terminatedSessions: 3, currentSessionRetained: true })
      for (const { device, session } of others)
        expect((await device.get('/profile', session.accessToken)).status).toBe(401)
      expect(data(await by.get('/security/sessions', token))).toHaveLength(1)
      expect(data(await by.post('/security/sessions/terminate-all', undefined, token)).terminatedSessions).toBe(0)
    })

    test("sessions.configure 200: above the limit the oldest sessions end, never the caller's", async () => {
      const { by, email, accountId, token } = await newcomer(gateway)
      expect(data(await by.get(config, token))).toEqual({
        accountBizId: accountId,
        ssoEnabled: false,
        maxSessions: 5,
        passwordChangedAt: expect.any(String),
        lastLoginAt: expect.any(String),
        lastLoginIp: by.ip,
      })
      const [older, newer] = [client(gateway), client(gateway)]
      const first = await signInAs(gateway, older, email)
      const second = await signInAs(gateway, newer, email)
      expect(data(await by.post(config, { maxConcurrentSessions: 2 }, token)).maxSessions).toBe(2)
      const alive = [
        (await by.get('/profile', token)).status,
        (await older.get('/profile', first.accessToken)).status,
        (await newer.get('/profile', second.accessToken)).status,
      ]
      expect(alive).toEqual([200, 401, 200])
    })

    test('auth.loginComplete: concurrent sign-ins never exceed the session limit', async () => {
      const { email } = await register(gateway)
      for (let round = 0; round < 3; round++) {
        const devices = Array.from({ length: 8 }, () => client(gateway))
        const begun: Awaited<ReturnType<typeof begin>>[] = []
        for (const device of devices) begun.push(await begin(gateway, device, email))
        const responses = await Promise.all(
          devices.map((device, index) => {
            const { sessionId, code } = begun[index] ?? { sessionId: '', code: '' }
            return device.post('/auth/login/complete', { sessionId, mfaMethod: 'EMAIL', code })
          }),
        )
        expect(responses.map(({ status }) => status)).toEqual(Array(8).fill(200))
        const alive = await Promise.all(
          responses.map(
            async (response, index) => (await devices[index]?.get('/profile', data(response).accessToken))?.status,
          ),
        )
        expect(alive.filter((status) => status === 200)).toHaveLength(5)
      }
    })
  })

  test.each([0, -1, 101, 1e9, 1.5, '2', null, [3]])('sessions.configure 400 for %j', async (maxConcurrentSessions) => {
    const { accessToken } = await signIn(portico)
    const response = await portico.call('POST', `/web/v1/consumer${config}`, {
      token: accessToken,
      body: { maxConcurrentSessions },
    })
    expect(refusal(response)).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
  })

  test('sessions.history 200: successes and failures, newest first, paginated, by time', async () => {
    const { by, email, token } = await newcomer(portico)
    const userAgent = 'Some Browser/1.0'
    await by.post('/auth/login/initiate', { email, password: 'wrong' }, undefined, { 'user-agent': userAgent })
    const { sessionId, code } = await begin(portico, by, email)
    const wrong = code === '000000' ? '111111' : '000000'
    await by.post('/auth/login/complete', { sessionId, mfaMethod: 'EMAIL', code: wrong })
    const history = '/security/sessions/history'
    const { items, pagination } = data(await by.get(history, token))
    expect(
      items.map((item: { loginResult: number; failureReason: string }) => [item.loginResult, item.failureReason]),
    ).toEqual([
      [0, 'CODE_INVALID'],
      [0, 'INVALID_CREDENTIALS'],
      [1, null],
    ])
    expect(items[0]).toMatchObject({ bizId: expect.any(String), clientIp: by.ip, loginTime: expect.any(String) })
    expect([items[0].userAgent, items[1].userAgent]).toEqual(['node', userAgent])
    expect(pagination).toMatchObject({ totalRecords: 3, currentPage: 1, pageSize: 20, hasNext: false })
    const page = data(await by.get(`${history}?pageSize=1&currentPage=2&sortOrder=asc`, token))
    expect(page.items.map((item: { failureReason: string }) => item.failureReason)).toEqual(['INVALID_CREDENTIALS'])
    expect(page.pagination).toMatchObject({ totalPages: 3, hasNext: true })
    const before = data(await by.get(`${history}?endTime=2020-01-01T00:00:00Z`, token))
    expect(before.items).toEqual([])
    const since = data(await by.get(`${history}?startTime=${encodeURIComponent(items[1].loginTime)}`, token))
    expect(since.items).toHaveLength(2)
    for (const bad of ['sortBy=password', 'pageSize=1000000', 'currentPage=-1', 'startTime=yesterday'])
      expect((await by.get(`${history}?${bad}`, token)).status, bad).toBe(400)
  })

  test('an operator has sessions, history and configuration on the SYSTEM portal', async () => {
    const { accessToken: token } = await signIn(portico, 'operator@demo.test')
    for (const path of [
      '/security/sessions',
      config,
      '/security/sessions/history',
      '/security/mfa',
      '/security/ip-whitelist',
    ])
      expect((await portico.call('GET', `/web/v1/system${path}`, { token })).status, path).toBe(200)
  })

  describe('users/self', () => {
    const headers = (more: Record<string, string> = {}) => ({
      'x-portal-access-code': null,
      'x-request-id': null,
      'x-forwarded-proto': null,
      'cf-ray': null,
      'cf-ipcountry': null,
      'x-locale': null,
      accept: 'application/json',
      ...more,
    })

    test('sessions.selfConfig 200 in envelope 1.3.0, for accounts of both portals', async () => {
      const { by, accountId, token } = await newcomer(portico)
      const response = await by.get(self, token, headers())
      expect(response.body).toEqual({
        version: '1.3.0',
        timestamp: expect.any(Number),
        success: true,
        code: '2000',
        message: 'Success',
        data: {
          accountBizId: accountId,
          ssoEnabled: false,
          maxSessions: 5,
          passwordChangedAt: expect.any(String),
          lastLoginAt: expect.any(String),
          lastLoginIp: by.ip,
        },
      })
      const operator = await signIn(portico, 'operator@demo.test')
      const own = await portico.call('GET', self, { token: operator.accessToken, headers: headers() })
      expect(own.status).toBe(200)
    })

    test('401 has the short form with code 4010, in the language of Accept-Language', async () => {
      const request = (more: Record<string, string>) => portico.call('GET', self, { headers: headers(more) })
      const missing = await request({})
      expect([missing.status, missing.body]).toEqual([
        401,
        { success: false, code: '4010', message: 'invalid or expired token' },
      ])
      const invalid = await request({ authorization: 'Bearer garbage' })
      expect(invalid.body).toEqual({ success: false, code: '4010', message: 'invalid or expired token' })
      const messages = new Set<string>()
      for (const language of ['en', 'zh', 'zh-Hant', 'ja', 'vi', 'xx', 'vi-VN;q=0.9, ja;q=0.1'])
        messages.add((await request({ authorization: 'Bearer garbage', 'accept-language': language })).body.message)
      expect(messages.size).toBe(5)
    })

    test("400 has code 4000 in the full envelope; 4010 for another client's hash", async () => {
      const { by, token } = await newcomer(portico)
      const hashless = await by.get(self, token, { ...headers(), 'x-client-hash': null })
      expect([hashless.status, hashless.body.code, hashless.body.version, hashless.body.data]).toEqual([
        400,
        '4000',
        '1.3.0',
        null,
      ])
      const unknown = await by.get(`${self}?zzz=1`, token, headers())
      expect([unknown.status, unknown.body.code]).toEqual([400, '4000'])
      const stolen = await by.get(self, token, { ...headers(), 'x-client-hash': 'thief' })
      expect([stolen.status, stolen.body.code]).toEqual([401, '4010'])
    })

    test.each([
      [405, 'POST', self],
      [404, 'GET', `${self}/none`],
      [404, 'GET', '/web/v1/users/self'],
    ])(
      '%i %s %s uses the envelope and codes of its chain, in the language of Accept-Language',
      async (status, method, path) => {
        const response = await portico.call(method, path, { headers: { ...headers(), 'accept-language': 'ja' } })
        expect([response.status, response.body]).toEqual([
          status,
          {
            version: '1.3.0',
            timestamp: expect.any(Number),
            success: false,
            code: `${status}0`,
            message: expect.not.stringMatching(/[a-z]/),
            data: null,
          },
        ])
      },
    )

    test("404 ROUTE.NOT_FOUND next to it has the portals' envelope", async () => {
      const { body } = await portico.call('GET', '/web/v1/users/selfish')
      expect([body.version, body.code]).toEqual(['2.0.0', 'ROUTE.NOT_FOUND'])
    })
  })

  test('401 on the machine chain for an access token with another client hash', async () => {
    const { by, token } = await newcomer(portico)
    const request = (hash: string | null) =>
      portico.call('GET', '/api/v1/consumer/wallets', { token, headers: { 'x-client-hash': hash } })
    expect((await request(by.hash)).status).toBe(200)
    expect(refusal(await request(null))).toEqual([401, 'ACCESS.TOKEN_INVALID'])
    expect(refusal(await request('thief'))).toEqual([401, 'ACCESS.TOKEN_INVALID'])
  })
})
