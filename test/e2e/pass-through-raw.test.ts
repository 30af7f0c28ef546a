import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { own } from '../../src/contract/policies.ts'
import { upstreamAt } from '../harness/settings.ts'
import { type PassThroughWorld, paths, startPassThroughWorld } from './pass-through-world.ts'

async function codeOf(response: Response): Promise<[number, string]> {
  return [response.status, (JSON.parse(await response.text()) as { code: string }).code]
}
const invalidResponse = [502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE']

describe('raw replies and pass-through prefixes', () => {
  let world: PassThroughWorld
  beforeAll(async () => {
    world = await startPassThroughWorld((settings, url) => {
      const limits = { timeoutMs: 2_000, streamTimeoutMs: 2_000, maxStreamBytes: 1_000_000 }
      const breaker = { failures: 1_000, openMs: 200 }
      settings.publicUrl = 'https://portal.example'
      settings.passThrough = [
        {
          ...upstreamAt(`${url}/app`, { audience: 'legacy', breaker, ...limits }),
          prefix: paths.legacy,
          methods: ['GET', 'POST', 'PUT', 'DELETE'],
          policy: {
            ...own,
            workspace: 'required',
            permission: 'wallet:read',
          },
          requestHeaders: ['x-legacy-version', 'if-modified-since'],
          responseHeaders: ['x-total-count'],
        },
      ]
    })
  })
  afterAll(() => world?.stop())

  /** `fetch` normalizes paths. */
  const sendRaw = async (method: string, target: string, extra = '', body = ''): Promise<string> => {
    const { hostname, port } = new URL(world.portico.urls[0] ?? '')
    const socket = connect({ host: hostname, port: Number(port) })
    const lines = Object.entries({ ...world.headers(), host: 'x', connection: 'close' })
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    socket.write(`${method} ${target} HTTP/1.1\r\n${head}${extra}\r\n${body}`)
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
    await once(socket, 'close')
    return text
  }

  test('passThrough.legacy 204, 304: a Content-Length of the service is not relayed', async () => {
    for (const [status, extra] of [
      [204, ''],
      [304, 'if-modified-since: Sat, 01 Jan 2000 00:00:00 GMT\r\n'],
    ] as const) {
      world.service.respond((request) => void request.socket.end(`HTTP/1.1 ${status} X\r\ncontent-length: 5\r\n\r\n`))
      for (const method of ['GET', 'HEAD']) {
        const text = await sendRaw(method, `${paths.legacy}/x`, extra)
        expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
        expect(text).not.toMatch(/content-length/i)
        expect(text).toMatch(/\r\n\r\n$/)
      }
    }
    expect(world.portico.log.filter(({ level }) => level === 'error')).toEqual([])
  })

  test('feed.report 200: any type is relayed with the headers of the reply only', async () => {
    world.service.respond((_request, response) => {
      response.writeHead(200, {
        'content-type': 'application/pdf',
        etag: '"1"',
        'set-cookie': 'a=b',
        'x-powered-by': 'legacy',
        'access-control-allow-origin': '*',
        'x-total-count': '3',
      })
      response.end('%PDF')
    })
    const response = await world.open(`${paths.report}?year=2026`, { accept: 'application/pdf', cookie: 'a=b' })
    expect([response.status, await response.text()]).toEqual([200, '%PDF'])
    expect(response.headers.get('content-type')).toBe('application/pdf')
    expect(response.headers.get('etag')).toBe('"1"')
    for (const name of ['set-cookie', 'x-powered-by', 'access-control-allow-origin', 'x-total-count'])
      expect(response.headers.has(name), name).toBe(false)
    const [request] = world.service.requests
    expect(request?.url).toBe(`/base${paths.report}?year=2026`)
    expect(request?.headers.accept).toBe('application/pdf')
    expect(request?.headers.cookie).toBeUndefined()
    expect(JSON.stringify(request?.headers)).not.toContain(world.session.accessToken)
  })

  test('feed.report: refused before the service is contacted, without a token and with unknown input', async () => {
    world.service.respond((_request, response) => void response.end('x'))
    expect(await codeOf(await world.open(paths.report, { authorization: null }))).toEqual([401, 'ACCESS.TOKEN_MISSING'])
    expect(await codeOf(await world.open(`${paths.report}?x=1`))).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    expect(world.service.requests).toEqual([])
  })

  test('feed.import 200: the body is streamed to the service as it is', async () => {
    const received = Promise.withResolvers<string>()
    world.service.respond((request, response) => {
      let text = ''
      request.on('data', (chunk) => {
        text += chunk
      })
      request.on('end', () => {
        received.resolve(text)
        response.writeHead(201, { 'content-type': 'text/plain' }).end('done')
      })
    })
    const init = { method: 'POST', body: 'a;b\n1;2\n' }
    const response = await world.open(paths.import, { 'content-type': 'text/csv' }, init)
    expect([response.status, await response.text()]).toEqual([201, 'done'])
    expect(await received.promise).toBe('a;b\n1;2\n')
    expect(world.service.requests[0]?.headers['content-type']).toBe('text/csv')
  })

  test('feed.import 413 REQUEST.TOO_LARGE: announced and streamed bodies above the limit', async () => {
    world.service.respond((request, response) => void request.resume().on('end', () => response.end()))
    const body = 'x'.repeat(1_000_001)
    expect(await codeOf(await world.open(paths.import, {}, { method: 'POST', body }))).toEqual([
      413,
      'REQUEST.TOO_LARGE',
    ])
    expect(world.service.requests).toEqual([])
    const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
    expect(await sendRaw('POST', paths.import, 'transfer-encoding: chunked\r\n', chunked)).toMatch(/^HTTP\/1\.1 413 /)
  })

  test('feed.import: a service that responds before it has read the body', async () => {
    world.service.respond((_request, response) => {
      response.writeHead(422, { 'content-type': 'text/plain', connection: 'close' }).end('no')
    })
    const announced = 'content-length: 900000\r\n'
    expect(await sendRaw('POST', paths.import, announced, 'x'.repeat(1_000))).toMatch(
      /^HTTP\/1\.1 422 [\s\S]*\r\nno\r\n0\r\n/,
    )
  })

  test('feed.render: a JSON body is validated, and then sent in canonical form', async () => {
    const received = Promise.withResolvers<string>()
    world.service.respond((request, response) => {
      request.on('data', (chunk) => received.resolve(String(chunk)))
      response.end('<svg/>')
    })
    const json = { 'content-type': 'application/json' }
    const refused = await world.open(paths.render, json, { method: 'POST', body: '{"title":"a","x":1}' })
    expect(await codeOf(refused)).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    expect(world.service.requests).toEqual([])
    const response = await world.open(paths.render, json, { method: 'POST', body: '{ "title": "é" }' })
    expect([response.status, await response.text()]).toEqual([200, '<svg/>'])
    expect(await received.promise).toBe('{"title":"é"}')
  })

  test.each<[string, number, Record<string, string>]>([
    ['a server error', 500, {}],
    ['401 for the call assertion', 401, { 'www-authenticate': 'Basic' }],
    ['a redirect', 302, { location: '/elsewhere' }],
    ['an unrequested range', 206, { 'content-range': 'bytes 0-1/2' }],
    ['an encoding', 200, { 'content-encoding': 'gzip' }],
    ['a reply above the limit', 200, { 'content-length': '2000000' }],
  ])('feed.report 502: %s', async (_name, status, headers) => {
    world.service.respond((_request, response) => void response.writeHead(status, headers).end('secret'))
    const response = await world.open(paths.report)
    expect(response.headers.get('location')).toBeNull()
    expect(response.headers.get('www-authenticate')).toBeNull()
    expect(await codeOf(response)).toEqual(invalidResponse)
  })

  test('feed.report 504, and a broken connection after the head: the total deadline', async () => {
    const deadlined = await startPassThroughWorld((settings) => {
      const { feed } = settings.backends
      if (typeof feed === 'object') feed.streamTimeoutMs = 500
    })
    try {
      deadlined.service.respond(() => undefined)
      expect(await codeOf(await deadlined.open(paths.report))).toEqual([504, 'SYSTEM.UPSTREAM_TIMEOUT'])
      deadlined.service.respond((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/plain' }).write('half')
      })
      const response = await deadlined.open(paths.report)
      expect(response.status).toBe(200)
      await expect(response.text()).rejects.toThrow()
    } finally {
      await deadlined.stop()
    }
  })

  test('feed.report: a service that breaks off breaks the connection', async () => {
    world.service.respond((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '100' }).write('half')
      setTimeout(() => response.destroy(), 50)
    })
    const response = await world.open(paths.report)
    expect(response.status).toBe(200)
    await expect(response.text()).rejects.toThrow()
  })

  test('passThrough 304: for If-None-Match, and for If-Modified-Since if the prefix lists it', async () => {
    world.service.respond((_request, response) => void response.writeHead(304, { etag: '"1"' }).end())
    const since = { 'if-modified-since': 'Mon, 05 Jan 2026 12:00:00 GMT' }
    for (const condition of [since, { 'if-none-match': '"1"' }]) {
      const response = await world.open(`${paths.legacy}/logo`, condition)
      expect([response.status, response.headers.get('etag'), await response.text()]).toEqual([304, '"1"', ''])
    }
    for (const response of [await world.open(`${paths.legacy}/logo`), await world.open(paths.report, since)])
      expect(await codeOf(response)).toEqual(invalidResponse)
  })

  test('passThrough 200: path, query, method, body and listed headers are passed on', async () => {
    world.service.respond((request, response) => {
      request.resume().on('end', () => {
        response.writeHead(200, { 'content-type': 'text/html', 'x-total-count': '3', 'set-cookie': 'a=b' })
        response.end(`${request.method} ${request.url}`)
      })
    })
    const target = '/orders/a%20b?page=1&page=2&%5Bx%5D=%2F'
    const extra = { 'x-legacy-version': '7', 'x-other': '1' }
    const response = await world.open(paths.legacy + target, extra, { method: 'PUT', body: 'text' })
    expect([response.status, await response.text()]).toEqual([200, `PUT /app${target}`])
    expect(response.headers.get('x-total-count')).toBe('3')
    expect(response.headers.get('set-cookie')).toBeNull()
    const [request] = world.service.requests
    expect(request?.headers['x-legacy-version']).toBe('7')
    expect(request?.headers['x-other']).toBeUndefined()
    expect(request?.headers.authorization).toMatch(/^Bearer /)
    expect(JSON.stringify(request?.headers)).not.toContain(world.session.accessToken)
    expect(await (await world.open(paths.legacy)).text()).toBe('GET /app')
    expect(await (await world.open(`${paths.legacy}/`)).text()).toBe('GET /app/')
    const head = await world.open(`${paths.legacy}/x`, {}, { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
    expect(await (await world.open(`${paths.legacy}/x`, {}, { method: 'DELETE' })).text()).toBe('DELETE /app/x')
  })

  test('passThrough 404: refusals of the service are relayed, with its own body', async () => {
    world.service.respond((_request, response) => {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"unknown order"}')
    })
    const response = await world.open(`${paths.legacy}/orders/1`)
    expect([response.status, await response.json()]).toEqual([404, { error: 'unknown order' }])
  })

  test.each<[string, string | null]>([
    ['/app/orders/2?x=1#y', '/web/v1/consumer/legacy/orders/2?x=1#y'],
    ['2', '/web/v1/consumer/legacy/orders/2'],
    ['https://portal.example/web/v1/consumer/legacy/a?b=1#c', '/web/v1/consumer/legacy/a?b=1#c'],
    ['http://portal.example/web/v1/consumer/legacy', '/web/v1/consumer/legacy'],
    ['//portal.example/web/v1/consumer/legacy/', '/web/v1/consumer/legacy/'],
    ['https://u:p@PORTAL.example:443/web/v1/consumer/legacy/a', '/web/v1/consumer/legacy/a'],
    ['https://portal.example/', null],
    ['https://portal.example/app/orders', null],
    ['https://portal.example/web/v1/consumer/legacyx', null],
    ['https://portal.example/web/v1/consumer/wallets', null],
    ['https://portal.example/web/v1/consumer/legacy/../wallets', null],
    ['https://portal.example/web/v1/consumer/legacy/%2e%2e/wallets', null],
    ['https://portal.example/web/v1/consumer/legacy/..;/wallets', null],
    ['https://portal.example:8443/web/v1/consumer/legacy/a', null],
    ['https://portal.example.evil.example/web/v1/consumer/legacy/a', null],
    ['https://portal.example@evil.example/web/v1/consumer/legacy/a', null],
    ['https://evil.example/web/v1/consumer/legacy/a', null],
    ['ftp://portal.example/web/v1/consumer/legacy/a', null],
    ['/web/v1/consumer/legacy/a', null],
    ['/other', null],
    ['/app/../admin', null],
    ['//evil.example/app/', null],
    ['http://169.254.169.254/app/', null],
    ['javascript:alert(1)', null],
    ['/app/a;jsessionid=1?x=..;', '/web/v1/consumer/legacy/a;jsessionid=1?x=..;'],
    ['/app/;jsessionid=1', '/web/v1/consumer/legacy/;jsessionid=1'],
    ['/app/..;/internal/x', null],
    ['..;/internal/x', null],
    ['/app/a/.;x/y', null],
    ['/app/%2e%2e;/internal', null],
    ['/app/%2e%2e%3b/internal', null],
    ['/app/..%3b/internal', null],
    ['/app/..%2finternal', null],
    ['/app/..%5cinternal', null],
    ['/app/%252e%252e/internal', null],
    ['/app\\..;\\internal', null],
  ])('passThrough: the redirect to %s stays below the prefix or gets 502', async (location, expected) => {
    world.service.respond((_request, response) => void response.writeHead(302, { location }).end())
    const response = await world.open(`${paths.legacy}/orders/1`)
    if (expected === null) expect(await codeOf(response)).toEqual(invalidResponse)
    else expect([response.status, response.headers.get('location')]).toEqual([302, expected])
  })

  test.each<[string, Record<string, string | null>, string, number, string]>([
    ['no access code', { 'x-portal-access-code': null }, 'GET', 403, 'ACCESS.PORTAL_MISMATCH'],
    ['no token', { authorization: null }, 'GET', 401, 'ACCESS.TOKEN_MISSING'],
    ['no workspace', { 'x-workspace-id': null }, 'GET', 400, 'ACCESS.WORKSPACE_REQUIRED'],
    ['no edge header', { 'cf-ray': null }, 'GET', 400, 'VALIDATION.INVALID_PARAMETER'],
    ['a method that is not listed', {}, 'PATCH', 405, 'ROUTE.METHOD_NOT_ALLOWED'],
    ['OPTIONS', {}, 'OPTIONS', 405, 'ROUTE.METHOD_NOT_ALLOWED'],
  ])('passThrough: %s is refused before the service is contacted', async (_name, extra, method, status, code) => {
    world.service.respond((_request, response) => void response.end())
    expect(await codeOf(await world.open(`${paths.legacy}/x`, extra, { method }))).toEqual([status, code])
    expect(world.service.requests).toEqual([])
  })

  test.each([
    '/web/v1/consumer/legacy/../wallets',
    '/web/v1/consumer/legacy/./x',
    '/web/v1/consumer/legacy/%2e%2e/wallets',
    '/web/v1/consumer/legacy/%2E%2E%2Fadmin',
    '/web/v1/consumer/legacy/..%2fadmin',
    '/web/v1/consumer/legacy/..%5cadmin',
    '/web/v1/consumer/legacy/%252e%252e/admin',
    '/web/v1/consumer/legacy/..\\admin',
    '/web/v1/consumer/legacy//admin',
    '/web/v1/consumer/legacy/..;/internal/x',
    '/web/v1/consumer/legacy/..;a=b/internal/x',
    '/web/v1/consumer/legacy/.;x/y',
    '/web/v1/consumer/legacy/a/..;',
    '/web/v1/consumer/legacy/;/..;/internal',
    '/web/v1/consumer/legacy/;/../internal',
    '/web/v1/consumer/legacy/;..;/internal',
    '/web/v1/consumer/legacy/%2e%2e;/internal',
    '/web/v1/consumer/legacy/.%2E;/internal',
    '/web/v1/consumer/legacy/..%3b/internal',
    '/web/v1/consumer/legacy/..%3B%2finternal',
    '/web/v1/consumer/legacy/%2e%2e%3b/internal',
    '/web/v1/consumer/legacy/..%253b/internal',
    '/web/v1/consumer/legacy/%252e%252e;/internal',
    '/web/v1/consumer/legacy/..;\\internal',
    '/web/v1/consumer/legacy/..;%5cinternal',
    '/web/v1/consumer/legacy/%c0%ae%c0%ae;/internal',
    '/web/v1/consumer/legacy;/../internal',
    '/web/v1/consumer/legacy/x%00',
    '/web/v1/consumer/legacy/x%0d%0aHost:%20evil',
    '/web/v1/consumer/legacy/%ff',
    '/web/v1/consumer/legacy#/x',
    '/web/v1/consumer/legacyx',
    '/web/v1/consumer/Legacy/x',
    '/web/v1/consumer/x/../legacy/x',
    '/web/v1/consumer%2flegacy/x',
    '/web/v1/system/legacy/x',
    '/web/v1/consumer/legacy/x?a=#b',
  ])('passThrough: %s does not reach the service', async (target) => {
    world.service.respond((_request, response) => void response.end())
    expect(await sendRaw('GET', target)).toMatch(/^HTTP\/1\.1 (400|404) /)
    expect(world.service.requests).toEqual([])
  })

  test.each(['GET', 'DELETE'])('passThrough 400: a body of %s could be read as the next request', async (method) => {
    world.service.respond((_request, response) => void response.end())
    const smuggled = 'GET /app/admin HTTP/1.1\r\nhost: x\r\n\r\n'
    const chunked = `${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`
    const text = await sendRaw(method, `${paths.legacy}/x`, 'transfer-encoding: chunked\r\n', chunked)
    expect(text).toMatch(/^HTTP\/1\.1 400 /)
    expect(world.service.requests).toEqual([])
  })

  test('passThrough appears under its name in the request log, /explain and the metrics', async () => {
    world.service.respond((_request, response) => void response.end('ok'))
    const requestId = 'explain-legacy'
    await (await world.open(`${paths.legacy}/orders/77`, { 'x-request-id': requestId })).text()
    const explain = async () => (await fetch(`${world.portico.operationsUrl}/explain/${requestId}`)).json()
    await expect.poll(explain).toMatchObject([{ operation: 'passThrough.legacy', status: 200, code: null }])
    await expect
      .poll(() => world.portico.log.find((line) => line.requestId === requestId))
      .toMatchObject({ operation: 'passThrough.legacy', method: 'GET', status: 200 })
    const metrics = await (await fetch(`${world.portico.operationsUrl}/metrics`)).text()
    expect(metrics).toContain('operation="passThrough.legacy"')
    expect(metrics).not.toContain('orders/77')
  })
})
