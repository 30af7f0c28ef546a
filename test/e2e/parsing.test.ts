import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { type Session, signIn } from '../harness/sign-in.ts'

const initiate = '/web/v1/consumer/auth/login/initiate'
const good = '"email":"owner@demo.test","password":"wrong"'

describe('parsing', () => {
  let portico: Portico
  let session: Session
  beforeAll(async () => {
    portico = await startPortico()
    session = await signIn(portico)
  })
  afterAll(() => portico?.stop())

  const workspace = developmentIds.workspace
  const post = (body: unknown, headers: Record<string, string | null> = {}) =>
    portico.call('POST', initiate, { body, headers })
  const invalid = [400, 'VALIDATION.INVALID_PARAMETER']

  test('a well-formed body with wrong credentials gets 401 only', async () => {
    const response = await post(`{${good}}`)
    expect([response.status, response.body.code]).toEqual([401, 'AUTH.INVALID_CREDENTIALS'])
  })

  test.each([
    ['charset=utf8', 'application/json; charset=utf8', ''],
    ['unknown parameters', 'application/json;v=1;charset="UTF8"', ''],
    ['a byte-order mark', 'application/json', '\uFEFF'],
  ])('login 401 AUTH.INVALID_CREDENTIALS: a body with %s is read', async (_name, type, mark) => {
    const response = await post(new TextEncoder().encode(`${mark}{${good}}`), { 'content-type': type })
    expect([response.status, response.body.code]).toEqual([401, 'AUTH.INVALID_CREDENTIALS'])
  })

  test.each<[string, unknown]>([
    ['__proto__', `{${good},"__proto__":{"admin":true}}`],
    ['an escaped __proto__', `{${good},"\\u005f_proto__":1}`],
    ['constructor', `{${good},"constructor":{}}`],
    ['a duplicate name', `{${good},"email":"other@demo.test"}`],
    ['a duplicate name, one escaped', `{${good},"e\\u006dail":"other@demo.test"}`],
    ['invalid UTF-8', Uint8Array.from([...Buffer.from('{"email":"'), 0xff, 0xfe, ...Buffer.from('","password":"x"}')])],
    ['two byte-order marks', `\uFEFF\uFEFF{${good}}`],
    ['an array 40,000 deep', '['.repeat(40_000) + ']'.repeat(40_000)],
    ['NUL in a text', '{"email":"a\\u0000b@demo.test","password":"x"}'],
    ['a lone surrogate', '{"email":"a\\ud800@demo.test","password":"x"}'],
    ['null', 'null'],
    ['5', '5'],
    ['[]', '[]'],
    ['an empty object', '{}'],
    ['nothing', ''],
    ['a truncated body', '{"email":'],
    ['a trailing comma', `{${good},}`],
    ['a comment', `{${good}/* */}`],
    ['a password that is an array', '{"email":"owner@demo.test","password":["x"]}'],
    ['a password that is a number', '{"email":"owner@demo.test","password":1}'],
    ['an unknown field', `{${good},"role":"admin"}`],
    ['a password of 200 KB', `{"email":"owner@demo.test","password":"${'x'.repeat(200_000)}"}`],
  ])('400 VALIDATION.INVALID_PARAMETER for %s', async (_name, body) => {
    const response = await post(body)
    expect([response.status, response.body.code]).toEqual(invalid)
    expect(Object.prototype).not.toHaveProperty('admin')
  })

  test.each<[string, string, object, string]>([
    [
      'a nested name that is too long',
      '/workspaces/current/update',
      { extraData: { ['k'.repeat(65)]: 'x' } },
      'extraData',
    ],
    ['an undeclared nested name', '/exports', { exportType: 'FLOWS', format: 'CSV', filters: { 'ü ': 1 } }, 'filters'],
    ['an undeclared name', '/workspaces/current/update', { 'ü ': 1 }, 'body'],
  ])('400 names the innermost field possible: %s', async (_name, path, body, field) => {
    const call = { body, token: session.accessToken, workspace }
    const response = await portico.call('POST', `/web/v1/consumer${path}`, call)
    expect([response.status, response.body.message]).toEqual([400, `invalid request parameters: ${field}`])
  })

  test.each<[string, unknown, string | null, number]>([
    ['text/plain', '{}', 'text/plain', 415],
    ['no content type', '{}', null, 415],
    ['charset utf-7', '{}', 'application/json; charset=utf-7', 415],
    ['charset utf-16', '{}', 'application/json; charset=utf-16', 415],
    ['a form', 'a=1', 'application/x-www-form-urlencoded', 415],
  ])('REQUEST.UNSUPPORTED_MEDIA_TYPE for %s', async (_name, body, type, status) => {
    // fetch adds a content type to a string but not to bytes.
    const response = await post(new TextEncoder().encode(String(body)), { 'content-type': type })
    expect([response.status, response.body.code]).toEqual([status, 'REQUEST.UNSUPPORTED_MEDIA_TYPE'])
  })

  test('415 for any compressed body; 413 for one above the limit', async () => {
    const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024))
    expect((await post(bomb, { 'content-encoding': 'gzip' })).status).toBe(415)
    const large = await post(`{"email":"${'x'.repeat(300_000)}"}`)
    expect([large.status, large.body.code]).toEqual([413, 'REQUEST.TOO_LARGE'])
  })

  const list = (query: string) =>
    portico.call('GET', `/web/v1/consumer/transfer/query/orders?${query}`, { token: session.accessToken, workspace })

  test.each([
    'currentPage=-1',
    'currentPage=0',
    'pageSize=1000000',
    'pageSize=1e2',
    'pageSize=',
    'sortBy=amount;DROP%20TABLE',
    'sortOrder=up',
    'startTime=2026-02-01T00:00:00Z&endTime=2026-01-01T00:00:00Z',
    'startTime=0000-01-01T00:00:00Z',
    'endTime=9999-12-31T23:59:59-00:01',
    'startTime=yesterday',
    'walletId=%27%20OR%201=1',
    'currentPage=1&currentPage=2',
    '__proto__=1',
    'constructor=1',
    'currentPage[]=1',
    'a[b][c]=1',
    'currentPage=%ff',
    'currentPage=%00',
  ])('400 VALIDATION.INVALID_PARAMETER for the query %s', async (query) => {
    const response = await list(query)
    expect([response.status, response.body.code]).toEqual(invalid)
  })

  test('500 SYSTEM.INTERNAL_ERROR for orders without parameters: documented, not logged as an error', async () => {
    const response = await list('')
    expect([response.status, response.body.code]).toEqual([500, 'SYSTEM.INTERNAL_ERROR'])
    expect((await list('pageSize=5')).status).toBe(200)
    const lines = portico.log.filter(({ status, operation }) => status === 500 && operation === 'transfers.list')
    expect(lines.map(({ level }) => level)).toEqual(['info'])
  })

  const transfer = (fields: object) =>
    portico.call('POST', '/web/v1/consumer/transfer/command/create', {
      token: session.accessToken,
      workspace,
      body: {
        sourceWalletBizId: developmentIds.mainUsd,
        targetWalletBizId: developmentIds.savingsUsd,
        amount: '1.00',
        currency: 'USD',
        ...fields,
      },
    })

  test.each([
    '-1',
    '0',
    '0.00',
    'NaN',
    'Infinity',
    '1e400',
    '1e3',
    '0x10',
    '１',
    '1,5',
    ' 1',
    '01',
    '1.',
    '.5',
    '0.001',
    '9'.repeat(40),
  ])('400 VALIDATION.INVALID_PARAMETER for the amount %s, with its field', async (amount) => {
    const response = await transfer({ amount })
    expect([response.status, response.body.code]).toEqual(invalid)
    expect(response.body.message).toContain('amount')
  })

  test('400 VALIDATION.INVALID_PARAMETER for a number, another currency, and a wallet to itself', async () => {
    expect((await transfer({ amount: 2 ** 53 })).status).toBe(400)
    const mismatch = await transfer({ currency: 'EUR' })
    expect([mismatch.status, mismatch.body.code]).toEqual(invalid)
    const self = await transfer({ targetWalletBizId: developmentIds.mainUsd })
    expect([self.status, self.body.code]).toEqual(invalid)
  })

  test('an unknown locale falls back to English; codes are the same in every locale', async () => {
    const request = (locale: string) =>
      portico.call('GET', '/web/v1/consumer/profile', { headers: { 'x-locale': locale } })
    const [odd, english, japanese] = [await request('../../x'), await request('en'), await request('ja')]
    expect(odd.body.message).toBe(english.body.message)
    for (const inherited of ['constructor', 'toString', 'valueOf-x', '__proto__', 'hasOwnProperty;q=1, ja;q=0.1'])
      expect([inherited, (await request(inherited)).status]).toEqual([inherited, 401])
    const unknownLocale = { headers: { 'x-locale': 'constructor' } }
    expect((await portico.call('GET', '/web/v1/consumer/nowhere', unknownLocale)).body.code).toBe('ROUTE.NOT_FOUND')
    const self = { headers: { 'accept-language': 'constructor' } }
    const session = await portico.call('GET', '/web/v1/users/self/security/sessions/config', self)
    expect([session.status, session.body]).toMatchObject([401, { code: '4010' }])
    expect(japanese.body.message).not.toBe(english.body.message)
    for (const weighed of ['en;q=0.1, ja', 'en;Q=0.1, ja'])
      expect((await request(weighed)).text).toContain(japanese.body.message)
    expect(japanese.body.code).toBe(english.body.code)
  })

  test('every response has the security headers and an envelope, and no server header', async () => {
    for (const response of [await requestUnknown(), await post('{'), await list('pageSize=1')]) {
      expect(response.headers.get('cache-control')).toBe('no-store')
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
      expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
      expect(response.headers.get('x-powered-by')).toBeNull()
      expect(response.text).not.toMatch(/at .*\.ts:|node_modules|Zod/)
      expect(Object.keys(response.body)).toEqual(['version', 'timestamp', 'success', 'code', 'message', 'data'])
    }
  })
  const requestUnknown = () => portico.call('GET', '/web/v1/consumer/nothing-here')

  test('an invalid request id is not echoed: the response has a generated one', async () => {
    const idOf = async (id: string) =>
      (await portico.call('GET', '/web/v1/consumer/nothing-here', { headers: { 'x-request-id': id } })).headers.get(
        'x-request-id',
      )
    expect(await idOf('a'.repeat(128))).toBe('a'.repeat(128))
    for (const none of ['a'.repeat(129), 'a b', '\u00e9']) expect(await idOf(none)).toMatch(/^[0-9a-f-]{36}$/)
  })

  test('control characters of a client leave each log entry one JSON line', async () => {
    await post('{"email":"a\\nb\\u001b[31m@demo.test","password":"x"}', { 'user-agent': 'evil\u0085 \u009b31magent' })
    expect(portico.rawLog.length).toBeGreaterThan(0)
    for (const line of portico.rawLog) {
      expect([...line].filter((char) => /\p{Cc}/u.test(char))).toEqual([])
      expect(() => JSON.parse(line)).not.toThrow()
    }
    expect(portico.rawLog.join('')).toContain('"userAgent":"evil   31magent"')
  })
})
