import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { requiredHeaders } from '../harness/http.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { sendRaw } from '../harness/raw.ts'
import { type Session, signIn } from '../harness/sign-in.ts'

const path = '/web/v1/consumer/secure-channel/public-key'
const initiate = '/web/v1/consumer/auth/login/initiate'
const changePassword = '/web/v1/consumer/auth/password/change'

/**
 * Framing precedes the operation, so one process is enough. `split` covers bodies that are streamed to a domain
 * service.
 */
describe('framing and path', () => {
  let portico: Portico
  let session: Session
  beforeAll(async () => {
    portico = await startPortico({
      adjust: (settings) => {
        settings.requests.headersTimeoutMs = 1_000
        settings.requests.bodyTimeoutMs = 1_000
      },
    })
    session = await signIn(portico)
  })
  afterAll(() => portico?.stop())

  const head = (without: string[] = []) =>
    Object.entries(requiredHeaders())
      .filter(([name]) => !without.includes(name))
      .map(([name, value]) => `${name}: ${value}`)
      .join('\r\n')
  const get = (line = `GET ${path} HTTP/1.1`, more = '') =>
    `${line}\r\nHost: portico.test\r\n${head(['content-type'])}\r\n${more}\r\n`
  const post = (more: string, body: string) =>
    `POST ${initiate} HTTP/1.1\r\nHost: portico.test\r\n${head()}\r\n${more}\r\n${body}`
  const upload = (more: string, body: string) =>
    `POST /web/v1/consumer/files/upload HTTP/1.1\r\nHost: portico.test\r\n${head(['content-type'])}\r\n` +
    `Authorization: Bearer ${session.accessToken}\r\nX-Workspace-Id: ${developmentIds.workspace}\r\n` +
    `Content-Type: multipart/form-data; boundary=b\r\n${more}\r\n${body}`
  const operationsServed = () => portico.log.filter(({ operation }) => operation).length

  test.each(['portico.test:8443', '127.0.0.1', '[::1]:8080', 'a_b-c.test.'])('200 for the Host %s', async (host) => {
    expect((await sendRaw(portico.url, get().replace('portico.test', host))).status).toBe(200)
  })

  test('200 for a plain request, with one response', async () => {
    expect(await sendRaw(portico.url, get())).toMatchObject({ status: 200, responses: 1 })
  })

  test.each<[string, () => string, number[]]>([
    [
      'Content-Length and Transfer-Encoding',
      () => post('Content-Length: 4\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\nGET / HTTP/1.1\r\n\r\n'),
      [400],
    ],
    ['two Content-Lengths', () => post('Content-Length: 2\r\nContent-Length: 2\r\n', '{}'), [400]],
    ['Content-Length +2', () => post('Content-Length: +2\r\n', '{}'), [400]],
    ['Content-Length 0x2', () => post('Content-Length: 0x2\r\n', '{}'), [400]],
    ['Transfer-Encoding identity', () => post('Transfer-Encoding: identity\r\n', '{}'), [400]],
    ['Transfer-Encoding gzip, chunked', () => post('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n'), [400]],
    [
      'Transfer-Encoding in HTTP/1.0',
      () =>
        post('Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n', '2\r\n{}\r\n0\r\n\r\n').replace(
          '/1.1',
          '/1.0',
        ),
      [400],
    ],
    ['two Hosts', () => get(undefined, 'Host: other.test\r\n'), [400]],
    ['an empty Host', () => get().replace('Host: portico.test', 'Host:'), [400]],
    ['two names in a Host', () => get().replace('portico.test', 'portico.test, evil.test'), [400]],
    ['a path in a Host', () => get().replace('portico.test', 'portico.test/../evil'), [400]],
    ['a user in a Host', () => get().replace('portico.test', 'evil@portico.test'), [400]],
    ['an invalid Host', () => get().replace('portico.test', 'portico test'), [400]],
    ['no Host', () => `GET ${path} HTTP/1.1\r\n${head()}\r\n\r\n`, [400]],
    ['an HTTP/0.9 line', () => `GET ${path}\r\n\r\n`, [400, 505]],
    ['an HTTP/2.0 line', () => get(`GET ${path} HTTP/2.0`), [400, 505]],
    ['bare line feeds', () => get().replaceAll('\r\n', '\n'), [400]],
    ['a folded header', () => get(undefined, 'X-Folded: a\r\n b\r\n'), [400]],
    ['NUL in a header', () => get(undefined, 'X-Nul: a\0b\r\n'), [400]],
    ['CR in a header', () => get(undefined, 'X-Cr: a\rb\r\n'), [400]],
    ['17 KB of headers', () => get(undefined, `X-Long: ${'a'.repeat(17 * 1024)}\r\n`), [431]],
    ['2,100 headers', () => get(undefined, 'a:b\r\n'.repeat(2_100)), [431]],
    ['an absolute URI', () => get(`GET http://evil.test${path} HTTP/1.1`), [400, 404]],
    ['a user in the path', () => get('GET @evil.test/ HTTP/1.1'), [400, 404]],
    ['TRACE', () => get(`TRACE ${path} HTTP/1.1`), [404, 405]],
    ['CONNECT', () => 'CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n', [404, 405]],
    ['QUERY', () => get(`QUERY ${path} HTTP/1.1`), [404, 405]],
  ])('%s is rejected and nothing is served', async (_name, bytes, statuses) => {
    const before = operationsServed()
    const response = await sendRaw(portico.url, bytes())
    expect(statuses, response.text).toContain(response.status)
    expect(response.responses).toBe(1)
    expect(operationsServed()).toBe(before)
    expect(response.text).not.toMatch(/node_modules|Error:|at file:/)
  })

  test('408 for heads and bodies that drip; other requests are served meanwhile', async () => {
    const drip = (start: string) =>
      new Promise<string>((resolve) => {
        const { hostname, port } = new URL(portico.url)
        const socket = connect(Number(port), hostname, () => socket.write(start))
        let text = ''
        const timer = setInterval(() => socket.write('a'), 250)
        socket.on('data', (chunk) => {
          text += chunk.toString()
        })
        socket.on('error', () => undefined)
        socket.on('close', () => {
          clearInterval(timer)
          resolve(text)
        })
      })
    const slow = [
      drip(`GET ${path} HTTP/1.1\r\nHost: portico.test\r\nX-Slow: `),
      drip(post('Content-Length: 1000\r\n', '{"email":"')),
      drip(upload('Content-Length: 100000\r\n', '--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\n')),
      drip(upload('Content-Length: 100000\r\n', '')),
    ]
    expect((await portico.call('GET', path)).status).toBe(200)
    for (const text of await Promise.all(slow)) expect(text).toMatch(/^HTTP\/1\.1 408/)
  })

  test.each([path, '/web/v1/users/self/security/sessions/config', '/api/v1/consumer/wallets'])(
    'GET %s with a body gets only refusals that are documented for it',
    async (target) => {
      const document = await (await fetch(`${portico.url}/openapi.json`)).json()
      const token = `authorization: Bearer ${session.accessToken}\r\n`
      const request = async (fields: string, body: string) => {
        const bytes = get(`GET ${target} HTTP/1.1`, token + fields) + body
        const { text, status } = await sendRaw(portico.url, bytes, 1_500)
        return {
          status,
          documented: JSON.stringify(codesOf(target, String(status))),
          code: /"code":"([^"]+)"/.exec(text)?.[1],
        }
      }
      const codesOf = (at: string, status: string): unknown => {
        const reference = String(document.paths[at].get.responses[status]?.$ref)
        return document.components.responses[reference.split('/').at(-1) ?? '']
      }
      const bodies: [number, string, string][] = [
        [408, 'Content-Type: application/json\r\nContent-Length: 9\r\n', '{'],
        [413, 'Content-Type: application/json\r\nContent-Length: 300000\r\n', ''],
        [415, 'Content-Type: text/plain\r\nContent-Length: 2\r\n', '{}'],
        [400, 'Content-Type: application/json\r\nContent-Length: 7\r\n', '{"a":1}'],
      ]
      for (const [status, fields, body] of bodies) {
        const answered = await request(fields, body)
        expect(answered.status).toBe(status)
        expect(answered.documented, `${status} of GET ${target}`).toContain(`"${answered.code}"`)
      }
    },
  )

  test('files.upload 401: reads the late body, does not wait for a missing one, serves nothing after it', async () => {
    const begun = upload('Content-Length: 40000\r\n', '').replace(/Authorization: .*\r\n/, '')
    const refused = async (then: string) => {
      let text = ''
      const socket = connect(Number(new URL(portico.url).port), '127.0.0.1', () => socket.write(begun))
      const closed = new Promise<Error | undefined>((resolve) => {
        socket.on('error', resolve).on('close', () => resolve(undefined))
      })
      await new Promise<void>((resolve) => {
        socket.on('data', (chunk) => {
          text += chunk.toString('latin1')
          if (text.includes('ACCESS.TOKEN_MISSING')) resolve()
        })
      })
      if (then) socket.write(then)
      return { end: await closed, text }
    }
    const before = operationsServed()
    // A proxy can drop the rest of a rejected body and reuse the connection for another client.
    for (const then of ['x'.repeat(40_000) + get(), get().repeat(400), '']) {
      const { end, text } = await refused(then)
      expect([end, text.match(/HTTP\/1\.1 \d+/g), text]).toEqual([
        undefined,
        ['HTTP/1.1 401'],
        expect.stringMatching(/\r\nconnection: close\r\n/i),
      ])
    }
    expect(operationsServed() - before).toBe(3)
  })

  test.each(['Content-Length: 20000000', 'Transfer-Encoding: chunked', 'Connection: close\r\nContent-Length: 40000'])(
    'files.upload 401 (%j): no reset for a proxy that keeps writing; a dropped body is not a new request',
    async (framing) => {
      const begun = upload(`${framing}\r\n`, '').replace(/Authorization: .*\r\n/, '')
      const refusedByParser = () => portico.log.filter(({ msg }) => msg === 'request malformed').length
      const before = refusedByParser()
      const socket = connect(Number(new URL(portico.url).port), '127.0.0.1')
      const closed = new Promise<Error | 'in order'>((resolve) => {
        socket.on('error', resolve).on('close', () => resolve('in order'))
      })
      let text = ''
      socket.on('data', (chunk) => {
        text += chunk.toString('latin1')
      })
      socket.pause().write(begun)
      for (let round = 0; round < 20; round++) {
        await new Promise((done) => setTimeout(done, 10))
        socket.write(`3e8\r\n${'x'.repeat(1_000)}\r\n`)
      }
      socket.resume()
      await expect.poll(() => text).toContain('ACCESS.TOKEN_MISSING')
      socket.end()
      expect([await closed, refusedByParser() - before]).toEqual(['in order', 0])
    },
  )

  test.each([
    ['Transfer-Encoding: chunked', '2\r\n{}\r\n0\r\n\r\n'],
    ['Content-Length: 2', '{}'],
  ])('401 for a body that arrived with its head (%s): the connection is reused', async (framing, body) => {
    const whole = post(`${framing}\r\n`, body).replace(initiate, changePassword)
    const before = operationsServed()
    const { status, responses } = await sendRaw(portico.url, whole + get(undefined, 'Connection: close\r\n'))
    expect([status, responses, operationsServed() - before]).toEqual([401, 2, 2])
  })

  test.each([
    ['/openapi.json', () => portico.url],
    ['/docs', () => portico.url],
    ['/health/live', () => portico.operationsUrl],
  ])('GET %s 200 with an unsent body is the last response of its connection', async (page, url) => {
    const bytes = `GET ${page} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5000\r\n\r\n${get().repeat(20)}`
    const { status, responses, closed, text } = await sendRaw(url(), bytes)
    expect([status, responses, closed]).toEqual([200, 1, true])
    expect(text).toMatch(/\r\nconnection: close\r\n/i)
  })

  test('1,000 idle sockets do not block a new client', async () => {
    const { hostname, port } = new URL(portico.url)
    const sockets = Array.from({ length: 1_000 }, () => connect(Number(port), hostname).on('error', () => undefined))
    expect((await portico.call('GET', path)).status).toBe(200)
    for (const socket of sockets) socket.destroy()
  })

  test.each([
    '/web/v1/consumer/secure-channel/public-key/',
    '/WEB/v1/consumer/secure-channel/public-key',
    '/web/v1//consumer/profile',
    '/web/v1/consumer/../system/profile',
    '/web/v1/consumer/./profile',
    '/web/v1/consumer/%70rofile%2f',
    '/web/v1/consumer/secure-channel/public%2Dkey',
    '/web/v1/consumer/secure-channel/%70ublic-key',
    '/%77eb/v1/consumer/secure-channel/public-key',
    '/web/v1/consumer/secure-channel/public-key#fragment',
    '/web/v1/consumer/wallets/%2e%2E/balance',
    '/web/v1/consumer/files/.%2e/download',
    '/web',
  ])('ROUTE.NOT_FOUND 404 for the uncanonical or unknown path %s', async (odd) => {
    const response = await sendRaw(portico.url, get(`GET ${odd} HTTP/1.1`))
    expect(response.status).toBe(404)
    expect(response.text).toContain('ROUTE.NOT_FOUND')
  })

  test('/ leads to /docs in the development profile, for reads only', async () => {
    const read = await sendRaw(portico.url, get('GET / HTTP/1.1'))
    expect(read.status).toBe(302)
    expect(read.text).toMatch(/^location: \/docs\r$/im)
    expect((await sendRaw(portico.url, get('DELETE / HTTP/1.1'))).status).toBe(404)
  })

  test.each([
    ['%2f', 404, 'RESOURCE.NOT_FOUND'],
    ['%00', 404, 'RESOURCE.NOT_FOUND'],
    ["'%20OR%201=1", 404, 'RESOURCE.NOT_FOUND'],
    ['%ff', 400, 'VALIDATION.INVALID_PARAMETER'],
  ])('an id of %s gets %d %s', async (id, status, code) => {
    const { accessToken: token } = session
    const response = await portico.call('GET', `/web/v1/consumer/wallets/${id}`, {
      token,
      workspace: developmentIds.workspace,
    })
    expect([response.status, response.body.code]).toEqual([status, code])
  })

  test.each([
    ['GET', '/web/v1/consumer/nowhere', 'ROUTE.NOT_FOUND'],
    ['DELETE', path, 'ROUTE.METHOD_NOT_ALLOWED'],
    ['GET', '/web/v1/consumer/wallets/%ff', 'VALIDATION.INVALID_PARAMETER'],
  ])('%s %s is refused in the language of X-LOCALE', async (method, where, code) => {
    const messages = new Set<string>()
    for (const locale of ['en', 'zh', 'zh-Hant', 'ja', 'vi']) {
      const { body } = await portico.call(method, where, { headers: { 'x-locale': locale } })
      expect(body.code).toBe(code)
      messages.add(body.message)
    }
    expect(messages.size).toBe(5)
  })

  test('a client that resets its connection causes no fault', async () => {
    const { hostname, port } = new URL(portico.url)
    const requestId = randomUUID()
    const bytes = get().replace(/x-request-id: .*/, `x-request-id: ${requestId}`)
    const reset = () =>
      new Promise<void>((resolve) => {
        const socket = connect(Number(port), hostname, () => {
          socket.write(bytes)
          socket.resetAndDestroy()
        })
        socket.on('error', () => undefined).on('close', () => resolve())
      })
    for (let count = 0; count < 20; count++) await reset()
    const lines = () => portico.log.filter((line) => line.requestId === requestId)
    await expect.poll(() => lines().length).toBeGreaterThan(0)
    expect((await portico.call('GET', path)).status).toBe(200)
    expect(lines().filter(({ status }) => status === 500)).toEqual([])
  })

  test('ROUTE.METHOD_NOT_ALLOWED 405 lists the allowed methods; a method override is ignored', async () => {
    const response = await portico.call('DELETE', path, { headers: { 'x-http-method-override': 'GET' } })
    expect([response.status, response.body.code, response.headers.get('allow')]).toEqual([
      405,
      'ROUTE.METHOD_NOT_ALLOWED',
      'GET, HEAD',
    ])
    const options = await portico.call('OPTIONS', path, { headers: { origin: 'https://evil.test' } })
    expect(options.status).toBe(405)
    expect(options.headers.get('access-control-allow-origin')).toBeNull()
    expect(options.headers.get('access-control-allow-credentials')).toBeNull()
  })

  test('HEAD: same status and refusals as GET, without a body', async () => {
    const head200 = await portico.call('HEAD', path)
    expect([head200.status, head200.text]).toEqual([200, ''])
    expect((await portico.call('HEAD', '/web/v1/consumer/profile')).status).toBe(401)
    expect((await portico.call('HEAD', path, { headers: { 'x-portal-access-code': null } })).status).toBe(403)
  })

  test('a repeated access code or token is refused in both orders; an underscore is not a hyphen', async () => {
    const codes = (first: string, second: string) =>
      `GET ${path} HTTP/1.1\r\nHost: portico.test\r\n${head(['x-portal-access-code', 'content-type'])}\r\n` +
      `X-PORTAL-ACCESS-CODE: ${first}\r\nX-PORTAL-ACCESS-CODE: ${second}\r\n\r\n`
    for (const [first, second] of [
      ['consumer-dev', 'wrong'],
      ['wrong', 'consumer-dev'],
      ['consumer-dev', 'consumer-dev'],
    ] as const)
      expect((await sendRaw(portico.url, codes(first, second))).text).toContain('ACCESS.PORTAL_MISMATCH')
    const underscored = get().replace('x-portal-access-code', 'X_PORTAL_ACCESS_CODE')
    expect((await sendRaw(portico.url, underscored)).text).toContain('ACCESS.PORTAL_MISMATCH')
    const tokens = get(
      'GET /web/v1/consumer/profile HTTP/1.1',
      'Authorization: Bearer a\r\nAuthorization: Bearer b\r\n',
    )
    expect((await sendRaw(portico.url, tokens)).status).toBe(401)
  })
})
