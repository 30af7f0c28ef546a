import { gzipSync } from 'node:zlib'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Portico, startPortico } from '../harness/portico.ts'
import { type Behaviour, json, type RawUpstream, rawResponse, startRawUpstream } from '../harness/raw-upstream.ts'
import { upstreamAt } from '../harness/settings.ts'
import { type Session, signIn } from '../harness/sign-in.ts'

const timezone = { code: 'UTC', label: 'UTC', zoneIdCode: 'Etc/UTC', utcOffset: 'UTC+0', value: 1 }
const secret = 'stack trace of the upstream'
/** Compressed in advance, so that the upstream is not delayed. */
const huge = Buffer.from(rawResponse('200 OK', { 'content-type': 'application/json' }, 'x'.repeat(50_000_000)))

describe('upstream faults', () => {
  let portico: Portico
  let session: Session
  let behave: Behaviour = () => undefined
  let upstream: RawUpstream

  const configuration = (timeoutMs = 20_000) =>
    upstreamAt(`${upstream.url}/base`, {
      audience: 'upstream-under-test',
      timeoutMs,
      maxReplyBytes: 100_000,
      connections: 8,
      concurrency: 4,
      queue: 2,
      breaker: { failures: 1_000, openMs: 200 },
    })

  beforeAll(async () => {
    upstream = await startRawUpstream((socket, request) => behave(socket, request))
    portico = await startPortico({
      adjust: (settings) => {
        settings.backends = { ...settings.backends, constants: configuration(), profile: configuration() }
      },
    })
    portico.expectFault(
      ({ operation, status }) => /^(constants|profile)\./.test(String(operation)) && Number(status) >= 502,
    )
    session = await signIn(portico)
  })
  afterAll(async () => {
    await portico?.stop()
    await upstream?.close()
  })

  const withBackends = (timeoutMs?: number) => {
    const [constants, profile] = [configuration(timeoutMs), configuration(timeoutMs)]
    const { running, settings } = portico
    return running.reload({ ...settings, backends: { ...settings.backends, constants, profile } })
  }
  /** The requests must time out. Other requests get more time than a slow machine needs. */
  const withShortTimeout = async <T>(send: () => Promise<T>): Promise<T> => {
    await withBackends(700)
    return send().finally(() => withBackends())
  }
  let before = 0
  beforeEach(() => {
    before = upstream.requests()
  })
  const tries = () => upstream.requests() - before
  const get = () =>
    portico.call('GET', '/web/v1/consumer/constants/timezones', { headers: { 'user-agent': 'a client' } })
  const post = () =>
    portico.call('POST', '/web/v1/consumer/profile/update', {
      token: session.accessToken,
      body: { accountName: 'New name' },
    })

  test.each<[string, string]>([
    ['an unasked 100 (Continue) before a reply', `HTTP/1.1 100 Continue\r\n\r\n${json([timezone])}`],
    ['a reply without a length', json([timezone]).replace(/content-length: \d+\r\n/, '')],
    [
      'a byte-order mark and charset=utf8',
      rawResponse('200 OK', { 'content-type': 'application/json;charset=utf8' }, `\ufeff${JSON.stringify([timezone])}`),
    ],
  ])('constants.timezones 200: %s is read', async (_name, reply) => {
    behave = (socket) => void socket.end(reply)
    const { status, body, text } = await get()
    expect([status, body.data], text).toEqual([200, [timezone]])
  })

  test('plain data and data in an envelope are both wrapped once', async () => {
    behave = (socket) => socket.write(json([timezone]))
    expect((await get()).body).toMatchObject({ success: true, data: [timezone] })
    behave = (socket) =>
      socket.write(json({ version: '1', timestamp: 1, success: true, code: '2000', message: 'ok', data: [timezone] }))
    expect((await get()).body.data).toEqual([timezone])
  })

  test('profile.update 502: the log names the unknown code with which the upstream refused', async () => {
    const refusal = { success: false, code: 'ACCOUNT.NOT_ENOUGH', message: secret, data: null }
    behave = (socket) => socket.write(json(refusal, '422 Unprocessable'))
    const { status, text, headers } = await post()
    expect(status).toBe(502)
    expect(text).not.toContain('ACCOUNT.NOT_ENOUGH')
    const requestId = headers.get('x-request-id')
    const line = portico.log.find((each) => each.requestId === requestId)
    expect(line).toMatchObject({ code: 'SYSTEM.UPSTREAM_INVALID_RESPONSE', upstreamCode: 'ACCOUNT.NOT_ENOUGH' })
    expect(JSON.stringify(line)).not.toContain(secret)
  })

  test.each<[string, Behaviour, number, string]>([
    [
      'HTML',
      (s) => s.write(rawResponse('200 OK', { 'content-type': 'text/html' }, `<h1>${secret}</h1>`)),
      502,
      'SYSTEM.UPSTREAM_INVALID_RESPONSE',
    ],
    [
      'an HTML 500',
      (s) => s.write(rawResponse('500 Oops', { 'content-type': 'text/html' }, secret)),
      502,
      'SYSTEM.UPSTREAM_INVALID_RESPONSE',
    ],
    ['a JSON 500', (s) => s.write(json({ error: secret }, '500 Oops')), 502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE'],
    [
      'invalid JSON',
      (s) => s.write(rawResponse('200 OK', { 'content-type': 'application/json' }, '{"a":')),
      502,
      'SYSTEM.UPSTREAM_INVALID_RESPONSE',
    ],
    [
      'HTML with a JSON content type',
      (s) => s.write(rawResponse('200 OK', { 'content-type': 'application/json' }, secret)),
      502,
      'SYSTEM.UPSTREAM_INVALID_RESPONSE',
    ],
    [
      'JSON in invalid UTF-8',
      (s) => s.write(Buffer.from(json([timezone]).replace('"label":"UTC"', '"label":"\xe9TC"'), 'latin1')),
      502,
      'SYSTEM.UPSTREAM_INVALID_RESPONSE',
    ],
    [
      'a reply that does not match the schema',
      (s) => s.write(json([{ code: 1 }])),
      502,
      'SYSTEM.UPSTREAM_INVALID_RESPONSE',
    ],
    [
      'an envelope in an envelope',
      (s) =>
        s.write(
          json({
            success: true,
            code: '2000',
            message: '',
            data: { success: true, code: '2000', message: '', data: [timezone] },
          }),
        ),
      502,
      'SYSTEM.UPSTREAM_INVALID_RESPONSE',
    ],
    [
      'a failure with status 200',
      (s) => s.write(json({ success: false, code: 'NO.SUCH_CODE', message: secret, data: null })),
      502,
      'SYSTEM.UPSTREAM_INVALID_RESPONSE',
    ],
    [
      'a code reserved for the gateway',
      (s) => s.write(json({ success: false, code: 'ACCESS.TOKEN_INVALID', message: secret, data: null }, '401 No')),
      502,
      'SYSTEM.UPSTREAM_INVALID_RESPONSE',
    ],
    [
      'a 405',
      (s) => s.write(json({ success: false, code: 'ROUTE.METHOD_NOT_ALLOWED', message: secret, data: null }, '405 No')),
      502,
      'SYSTEM.UPSTREAM_INVALID_RESPONSE',
    ],
    ['204 without a body', (s) => s.write('HTTP/1.1 204 No Content\r\n\r\n'), 502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE'],
    [
      'a redirect to an internal address',
      (s) => s.write(rawResponse('302 Found', { location: 'http://169.254.169.254/' }, '')),
      502,
      'SYSTEM.UPSTREAM_INVALID_RESPONSE',
    ],
    ['status 099', (s) => s.write(json([timezone], '099 Odd')), 502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE'],
    [
      '101',
      (s) => s.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
      502,
      'SYSTEM.UPSTREAM_INVALID_RESPONSE',
    ],
    [
      'a truncated body',
      (s) => s.end(rawResponse('200 OK', { 'content-type': 'application/json', 'content-length': '500' }, '[]')),
      502,
      'SYSTEM.UPSTREAM_INVALID_RESPONSE',
    ],
    ['a connection reset', (s) => s.resetAndDestroy(), 502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE'],
    ['not HTTP', (s) => s.end('SSH-2.0-OpenSSH\r\n'), 502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE'],
    ['50 MB', (s) => s.write(huge), 502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE'],
    [
      'unrequested gzip',
      (s) =>
        s.write(
          rawResponse(
            '200 OK',
            { 'content-type': 'application/json', 'content-encoding': 'gzip' },
            gzipSync('[]').toString('latin1'),
          ),
        ),
      502,
      'SYSTEM.UPSTREAM_INVALID_RESPONSE',
    ],
    ['503', (s) => s.write(json({}, '503 Later')), 503, 'SYSTEM.UNAVAILABLE'],
    [
      'a 503 page of a load balancer',
      (s) => s.write(rawResponse('503 Later', { 'content-type': 'text/html' }, secret)),
      503,
      'SYSTEM.UNAVAILABLE',
    ],
    ['a 503 without a body', (s) => s.write(rawResponse('503 Later', {}, '')), 503, 'SYSTEM.UNAVAILABLE'],
    [
      'a sentence as invalid field',
      (s) =>
        s.write(json({ success: false, code: 'VALIDATION.INVALID_PARAMETER', message: '', data: null, field: secret })),
      400,
      'VALIDATION.INVALID_PARAMETER',
    ],
    ['silence', () => undefined, 504, 'SYSTEM.UPSTREAM_TIMEOUT'],
    [
      'a head without a body',
      (s) => s.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n['),
      504,
      'SYSTEM.UPSTREAM_TIMEOUT',
    ],
  ])(
    '%s is answered within the deadline by our own refusal, without any upstream detail',
    async (_name, behaviour, status, code) => {
      behave = behaviour
      const start = performance.now()
      const got = status === 504 ? await withShortTimeout(get) : await get()
      expect([got.status, got.body.code], got.text).toEqual([status, code])
      expect(performance.now() - start).toBeLessThan(15_000)
      expect(got.text).not.toContain(secret)
      expect(portico.rawLog.join()).not.toContain(secret)
      expect(got.headers.get('location')).toBeNull()
    },
  )

  test('504 at the total deadline for a response that drips', async () => {
    const timers: NodeJS.Timeout[] = []
    behave = (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n[')
      timers.push(setInterval(() => socket.writable && socket.write(' '), 50))
    }
    const got = await withShortTimeout(get)
    for (const timer of timers) clearInterval(timer)
    expect([got.status, got.body.code]).toEqual([504, 'SYSTEM.UPSTREAM_TIMEOUT'])
    expect(tries()).toBe(1)
  })

  test.each([
    [{}, '1'],
    [{ 'retry-after': '17' }, '17'],
  ])('429 ACCESS.RATE_LIMITED of an upstream with %j has a Retry-After of %s s', async (fields, wait) => {
    const body = JSON.stringify({ success: false, code: 'ACCESS.RATE_LIMITED', message: '', data: null })
    behave = (socket) => socket.write(rawResponse('429 Slow', { 'content-type': 'application/json', ...fields }, body))
    const { status, headers } = await get()
    expect([status, headers.get('retry-after')]).toEqual([429, wait])
  })

  const [date, later] = ['Wed, 21 Oct 2026 07:28:00 GMT', 'Wed, 21 Oct 2026 07:30:00 GMT']
  test.each<[string, Record<string, string>, string]>([
    ['503 Later', { 'retry-after': '1209600' }, '1209600'],
    ['503 Later', { date, 'retry-after': later }, '120'],
    ['502 Bad Gateway', { 'retry-after': '30' }, '30'],
    ['429 Too Many Requests', { 'retry-after': '30' }, '30'],
  ])('a page with %s and %j of an upstream gets a Retry-After of %s', async (status, fields, wait) => {
    behave = (socket) => socket.write(rawResponse(status, { 'content-type': 'text/html', ...fields }, secret))
    expect((await get()).headers.get('retry-after')).toBe(wait)
  })

  test("429 ACCESS.RATE_LIMITED of an upstream reports the upstream's limit", async () => {
    const fields = { 'retry-after': '17', 'ratelimit-policy': '"exports";q=5;w=3600' }
    const body = { success: false, code: 'ACCESS.RATE_LIMITED', message: '', data: null }
    behave = (socket) => socket.write(json(body, '429 Slow', fields))
    const { headers } = await get()
    expect(headers.get('ratelimit-policy')).toBe(fields['ratelimit-policy'])
    expect(headers.get('ratelimit')).toBe('"exports";r=0;t=17')
  })

  test('Set-Cookie and other headers of the upstream are not relayed', async () => {
    behave = (socket) =>
      socket.write(
        json([timezone], '200 OK', {
          'set-cookie': 'a=b',
          server: 'secret/1',
          'x-powered-by': 'x',
          'access-control-allow-origin': '*',
        }),
      )
    const { headers } = await get()
    for (const name of ['set-cookie', 'server', 'x-powered-by', 'access-control-allow-origin'])
      expect(headers.get(name)).toBeNull()
  })

  test("a refusal in the upstream's envelope gets the gateway's own message", async () => {
    behave = (socket) =>
      socket.write(
        json({ success: false, code: 'VALIDATION.INVALID_PARAMETER', message: secret, data: null }, '400 Bad'),
      )
    const got = await post()
    expect([got.status, got.body.code]).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    expect(got.text).not.toContain(secret)
  })

  test('profile.update 502: a refusal that the operation does not declare is a fault of the service', async () => {
    behave = (socket) =>
      socket.write(json({ success: false, code: 'STATE.CONFLICT', message: secret, data: null }, '409 Conflict'))
    const got = await post()
    expect([got.status, got.body.code]).toEqual([502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE'])
    expect(got.text).not.toContain(secret)
  })

  test('a failed GET is retried once, a POST never', async () => {
    let failures = 1
    behave = (socket) => (failures-- > 0 ? socket.resetAndDestroy() : socket.write(json([timezone])))
    expect((await get()).status).toBe(200)
    expect(tries()).toBe(2)
    before = upstream.requests()
    behave = (socket) => socket.resetAndDestroy()
    expect((await post()).status).toBe(502)
    expect(tries()).toBe(1)
  })

  test('the upstream gets the listed headers and a signed assertion, and no other header of the client', async () => {
    behave = (socket) => socket.write(json([timezone]))
    await portico.call('GET', '/web/v1/consumer/constants/timezones', {
      headers: {
        'x-forwarded-for': '6.6.6.6',
        'x-user-id': 'root',
        'x-client-ip': '6.6.6.6',
        'proxy-authorization': 'x',
        cookie: 'a=b',
        authorization: 'Bearer of-the-client',
        connection: 'keep-alive',
      },
    })
    const [head = ''] = upstream.received.at(-1)?.split('\r\n\r\n') ?? []
    const [line, ...fields] = head.split('\r\n')
    expect(line).toBe('GET /base/web/v1/consumer/constants/timezones HTTP/1.1')
    const seen = new Map(
      fields.map((field) => [field.slice(0, field.indexOf(':')).toLowerCase(), field.slice(field.indexOf(':') + 2)]),
    )
    expect([...seen.keys()].sort()).toEqual([
      'accept',
      'authorization',
      'connection',
      'host',
      'x-client-country',
      'x-client-ip',
      'x-client-user-agent',
      'x-locale',
      'x-request-id',
    ])
    expect(seen.get('x-client-ip')).toBe('203.0.113.7')
    const token = seen.get('authorization')?.replace('Bearer ', '') ?? ''
    expect(decodeProtectedHeader(token)).toMatchObject({ alg: 'EdDSA', typ: 'portico-call+jwt' })
    expect(decodeJwt(token)).toMatchObject({ iss: 'portico', aud: 'upstream-under-test', portal: 'CONSUMER' })
    expect(decodeJwt(token).sub).toBeUndefined()
  })

  test('the assertion of an authenticated call has account, workspace and permissions', async () => {
    behave = (socket) =>
      socket.write(json({ success: false, code: 'STATE.CONFLICT', message: '', data: null }, '409 Conflict'))
    await post()
    const token = /authorization: Bearer (\S+)/i.exec(upstream.received.join(''))?.[1]
    const claims = upstream.received.flatMap((text) =>
      [...text.matchAll(/authorization: Bearer (\S+)/gi)].map((match) => decodeJwt(match[1] ?? '')),
    )
    expect(token).toBeDefined()
    expect(claims.at(-1)).toMatchObject({ sid: session.sessionId, portal: 'CONSUMER' })
    expect(claims.at(-1)?.sub).toMatch(/^[0-9a-f-]{36}$/)
  })

  test('503 above the concurrency limit, and the gateway stays healthy', async () => {
    behave = () => undefined
    const all = await withShortTimeout(() => Promise.all(Array.from({ length: 12 }, get)))
    const statuses = all.map(({ status }) => status).sort()
    expect(statuses.filter((status) => status === 503).length).toBeGreaterThanOrEqual(4)
    expect(new Set(statuses)).toEqual(new Set([503, 504]))
    behave = (socket) => socket.write(json([timezone]))
    expect((await get()).status).toBe(200)
  })

  test('metrics count each attempt by its outcome', async () => {
    const text = await (await fetch(`${portico.operationsUrl}/metrics`)).text()
    expect(text).toContain(`portico_upstream_attempt_seconds_count{upstream="${upstream.url}/base",outcome="ok"}`)
    expect(text).toContain('outcome="SYSTEM.UPSTREAM_TIMEOUT"')
    expect(text).toMatch(/portico_upstream_requests_in_flight\{[^}]*\} 0/)
  })
})
