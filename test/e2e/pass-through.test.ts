import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { recheckMs } from '../../src/gateway/pipeline/open-streams.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { fromOwnPage, openPage, type Page } from '../harness/browser.ts'
import { bufferedBytes, untilUnchanged } from '../harness/buffers.ts'
import { signIn } from '../harness/sign-in.ts'
import { openEvents, type PassThroughWorld, paths, readerOf, startPassThroughWorld } from './pass-through-world.ts'

const { workspace } = developmentIds

/** Resolves to the duration in milliseconds. */
async function timed(work: Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work.catch(() => undefined)
  return performance.now() - start
}

async function codeOf(response: Response): Promise<[number, string]> {
  return [response.status, (JSON.parse(await response.text()) as { code: string }).code]
}

describe('event streams', () => {
  let world: PassThroughWorld
  beforeAll(async () => {
    world = await startPassThroughWorld()
  })
  afterAll(() => world?.stop())

  test('feed.watch 200: events arrive as they are sent, with only the headers of the gateway', async () => {
    let send: (text: string) => boolean = () => false
    world.service.respond((_request, response) => {
      send = openEvents(response)
    })
    const response = await world.open(`${paths.watch}?kind=own`, { cookie: 'a=b', 'last-event-id': '7' })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('x-accel-buffering')).toBe('no')
    expect(response.headers.get('set-cookie')).toBeNull()
    const reader = readerOf(response)
    expect(await reader.next()).toBe('data: first\n\n')
    send('second')
    expect(await reader.next()).toBe('data: second\n\n')
    await reader.cancel()
    const [request] = world.service.requests
    expect(request?.url).toBe(`/base${paths.watch}?kind=own`)
    expect(request?.headers).toMatchObject({ accept: 'text/event-stream', 'last-event-id': '7' })
    expect(request?.headers.cookie).toBeUndefined()
    expect(request?.headers['x-portal-access-code']).toBeUndefined()
    expect(request?.headers['x-client-hash']).toBeUndefined()
    expect(JSON.stringify(request?.headers)).not.toContain(world.session.accessToken)
  })

  describe('with the session cookie', () => {
    let page: Page
    beforeAll(async () => {
      page = await openPage(world.portico)
      world.service.respond((_request, response) => void openEvents(response))
    })

    const ticket = async (path: string, of: string | undefined = workspace) =>
      page.call('POST', '/auth/browser-session/ticket', { ...(of && { workspace: of }), body: { path } })

    test('feed.watch 200: a page reads a stream with fetch', async () => {
      const headers = { ...fromOwnPage, cookie: page.cookie, authorization: null }
      const reader = readerOf(await world.open(paths.watch, headers))
      expect(await reader.next()).toBe('data: first\n\n')
      await reader.cancel()
    })

    test('feed.watch 200: EventSource needs a ticket, which the service does not see; 403 when it reconnects', async () => {
      const before = world.service.requests.length
      const { url } = (await ticket(`${paths.watch}?kind=own`)).body.data
      expect(url).toMatch(/\?kind=own&ticket=[\w-]{43}$/)
      const watch = () =>
        fetch(world.portico.url + url, { headers: { ...fromOwnPage, cookie: page.cookie, 'last-event-id': '7' } })
      const reader = readerOf(await watch())
      expect(await reader.next()).toBe('data: first\n\n')
      await reader.cancel()
      const request = world.service.requests[before]
      expect([request?.url, request?.headers['last-event-id']]).toEqual([`/base${paths.watch}?kind=own`, '7'])
      expect(await codeOf(await watch())).toEqual([403, 'ACCESS.TICKET_INVALID'])
    })

    test('feed.watch: a stream that a ticket opened ends with its session, and not at an earlier check', async () => {
      const own = await openPage(world.portico)
      let send: (text: string) => boolean = () => false
      world.service.respond((_request, response) => {
        send = openEvents(response)
      })
      const request = { workspace, body: { path: paths.watch } }
      const { url } = (await own.call('POST', '/auth/browser-session/ticket', request)).body.data
      const reader = readerOf(await fetch(world.portico.url + url, { headers: { ...fromOwnPage, cookie: own.cookie } }))
      await reader.next()
      for (let checks = 0; checks < 3; checks += 1) world.durations.skip(recheckMs)
      await setTimeout(2 * recheckMs)
      send('second')
      expect(await reader.next()).toBe('data: second\n\n')
      await own.call('POST', '/auth/browser-session/end')
      await reader.end()
    })

    test('browserSessions.ticket 400 VALIDATION.INVALID_PARAMETER: raw, public and prefixed paths, and sockets', async () => {
      for (const path of [paths.report, paths.news, paths.import, `${paths.legacy}/x`]) {
        const { status, body } = await ticket(path)
        expect([path, status, body.code]).toEqual([path, 400, 'VALIDATION.INVALID_PARAMETER'])
      }
    })

    test('browserSessions.ticket 400 ACCESS.WORKSPACE_REQUIRED: the stream needs a workspace', async () => {
      const { status, body } = await ticket(paths.watch, '')
      expect([status, body.code]).toEqual([400, 'ACCESS.WORKSPACE_REQUIRED'])
    })

    test('feed.report 403 ACCESS.PORTAL_MISMATCH: raw operations take no ticket', async () => {
      const headers = { ...fromOwnPage, cookie: page.cookie }
      const response = await fetch(`${world.portico.url}${paths.report}?ticket=${'A'.repeat(43)}`, { headers })
      expect(await codeOf(response)).toEqual([403, 'ACCESS.PORTAL_MISMATCH'])
    })
  })

  test('feed.watch 200 for HEAD: the head only, and the stream of the service is closed', async () => {
    const closed = Promise.withResolvers<void>()
    world.service.respond((_request, response) => {
      response.on('close', () => closed.resolve())
      openEvents(response)
    })
    const response = await world.open(paths.watch, {}, { method: 'HEAD' })
    expect([response.status, await response.text()]).toEqual([200, ''])
    await closed.promise
  })

  test.each<[string, Record<string, string | null>, string, string, number, string]>([
    ['no access code', { 'x-portal-access-code': null }, 'GET', '', 403, 'ACCESS.PORTAL_MISMATCH'],
    ['no edge header', { 'cf-ray': null }, 'GET', '', 400, 'VALIDATION.INVALID_PARAMETER'],
    ['no client hash', { 'x-client-hash': null }, 'GET', '', 400, 'VALIDATION.INVALID_PARAMETER'],
    ['no token', { authorization: null }, 'GET', '', 401, 'ACCESS.TOKEN_MISSING'],
    ['an invalid token', { authorization: 'Bearer x' }, 'GET', '', 401, 'ACCESS.TOKEN_INVALID'],
    ['no workspace', { 'x-workspace-id': null }, 'GET', '', 400, 'ACCESS.WORKSPACE_REQUIRED'],
    [
      'a foreign workspace',
      { 'x-workspace-id': '01990000-0000-7000-8000-0000000000ff' },
      'GET',
      '',
      403,
      'ACCESS.PERMISSION_DENIED',
    ],
    ['an unknown query parameter', {}, 'GET', '?x=1', 400, 'VALIDATION.INVALID_PARAMETER'],
    ['an invalid query parameter', {}, 'GET', '?kind=none', 400, 'VALIDATION.INVALID_PARAMETER'],
    ['a POST', {}, 'POST', '', 405, 'ROUTE.METHOD_NOT_ALLOWED'],
  ])('feed.watch: %s is refused before the service is contacted', async (_name, extra, method, query, status, code) => {
    world.service.respond((_request, response) => void openEvents(response))
    expect(await codeOf(await world.open(paths.watch + query, extra, { method }))).toEqual([status, code])
    expect(world.service.requests).toEqual([])
  })

  test('feed.watch 400: a malformed path parameter is refused before the service is contacted', async () => {
    world.service.respond((_request, response) => void openEvents(response))
    expect(await codeOf(await world.open('/web/v1/consumer/feed/not-an-id/events'))).toEqual([
      400,
      'VALIDATION.INVALID_PARAMETER',
    ])
    expect(world.service.requests).toEqual([])
  })

  test.each<[string, number, Record<string, string>, string, number, string]>([
    ['a redirect', 302, { location: 'http://169.254.169.254/' }, '', 502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE'],
    ['an error page', 500, { 'content-type': 'text/html' }, 'secret', 502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE'],
    ['another type', 200, { 'content-type': 'text/html' }, 'secret', 502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE'],
    ['JSON', 200, { 'content-type': 'application/json' }, '{}', 502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE'],
    [
      'an encoding',
      200,
      { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' },
      'x',
      502,
      'SYSTEM.UPSTREAM_INVALID_RESPONSE',
    ],
    ['503', 503, {}, '', 503, 'SYSTEM.UNAVAILABLE'],
    [
      'a refusal of a domain',
      400,
      { 'content-type': 'application/json' },
      '{"success":false,"code":"VALIDATION.INVALID_PARAMETER","message":"secret","data":null}',
      400,
      'VALIDATION.INVALID_PARAMETER',
    ],
    [
      'an undeclared refusal',
      404,
      { 'content-type': 'application/json' },
      '{"success":false,"code":"RESOURCE.NOT_FOUND","message":"secret","data":null}',
      502,
      'SYSTEM.UPSTREAM_INVALID_RESPONSE',
    ],
  ])('feed.watch: %s of the service is not relayed', async (_name, upstreamStatus, headers, body, status, code) => {
    world.service.respond((_request, response) => void response.writeHead(upstreamStatus, headers).end(body))
    const response = await world.open(paths.watch)
    const text = await response.clone().text()
    expect(await codeOf(response)).toEqual([status, code])
    expect(text).not.toContain('secret')
    expect(response.headers.get('location')).toBeNull()
  })

  test('feed.watch 504: the service sends no head before the deadline', async () => {
    const closed = Promise.withResolvers<void>()
    world.service.respond((request) => void request.socket.on('close', () => closed.resolve()))
    expect(await codeOf(await world.open(paths.watch))).toEqual([504, 'SYSTEM.UPSTREAM_TIMEOUT'])
    await closed.promise
  })

  test('feed.watch: a client that disconnects aborts the stream of the service', async () => {
    const closed = Promise.withResolvers<void>()
    world.service.respond((_request, response) => {
      response.on('close', () => closed.resolve())
      openEvents(response)
    })
    const abort = new AbortController()
    const reader = readerOf(await world.open(paths.watch, {}, { signal: abort.signal }))
    await reader.next()
    abort.abort()
    await closed.promise
    await expect
      .poll(() => world.portico.log.filter(({ operation }) => operation === 'feed.watch').at(-1))
      .toMatchObject({ msg: 'request', status: 200, streamEnd: 'client' })
  })

  test('feed.watch: a client that disconnects before the head aborts the stream of the service, too', async () => {
    const closed = Promise.withResolvers<void>()
    const abort = new AbortController()
    world.service.respond((_request, response) => {
      response.on('close', () => closed.resolve())
      abort.abort()
    })
    await expect(world.open(paths.watch, {}, { signal: abort.signal })).rejects.toThrow()
    await closed.promise
    await expect
      .poll(() => world.metric('portico_open_streams'))
      .toContain('portico_open_streams{operation="feed.watch"} 0')
  })

  test('feed.watch: the end of the service ends the stream, and a broken service breaks it off', async () => {
    let end = (): void => undefined
    world.service.respond((_request, response) => {
      openEvents(response)
      end = () => response.end()
    })
    const ended = readerOf(await world.open(paths.watch))
    await ended.next()
    end()
    await ended.end()
    const broken = readerOf(await world.open(paths.watch))
    await broken.next()
    world.service.destroyConnections()
    await expect(broken.end()).rejects.toThrow()
  })

  test('feed.watch: without a length, a reset breaks the stream off, and the end of the connection ends it', async () => {
    const interim = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n'
    const head = `${interim}HTTP/1.1 200 OK\r\ncontent-type: Text/Event-Stream;charset=UTF8\r\n\r\n`
    world.service.respond(({ socket }) => void socket.write(`${head}data: first\n\n`))
    for (const how of ['resetAndDestroy', 'end'] as const) {
      const reader = readerOf(await world.open(paths.watch))
      expect(await reader.next()).toBe('data: first\n\n')
      world.service.requests.at(-1)?.socket[how]()
      if (how === 'end') await reader.end()
      else await expect(reader.end()).rejects.toThrow()
    }
  })

  test('feed.watch 429 ACCESS.RATE_LIMITED: above the number of open streams per account', async () => {
    world.service.respond((_request, response) => void openEvents(response))
    // The gateway can still be closing the streams of the previous tests.
    const streams = async (): Promise<string> => (await world.metric('portico_open_streams')).join()
    await expect.poll(streams).not.toMatch(/feed\.watch"\} [1-9]/)
    const open = await Promise.all([1, 2, 3, 4].map(() => world.open(paths.watch)))
    expect(open.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(await world.metric('portico_open_streams')).toContain('portico_open_streams{operation="feed.watch"} 4')
    const contacted = world.service.requests.length
    const refused = await world.open(paths.watch)
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(await codeOf(refused)).toEqual([429, 'ACCESS.RATE_LIMITED'])
    expect(world.service.requests.length).toBe(contacted)
    // Anonymous clients are counted by their address.
    const news = await world.open(paths.news, { authorization: null })
    expect(news.status).toBe(200)
    await news.body?.cancel()
    for (const each of open) await each.body?.cancel()
    await expect
      .poll(() => world.metric('portico_open_streams'))
      .toContain('portico_open_streams{operation="feed.watch"} 0')
    expect((await world.metric('portico_streams_ended_total')).join()).toContain('reason="client"')
    const again = await world.open(paths.watch)
    expect(again.status).toBe(200)
    await again.body?.cancel()
  })

  test('feed.watch: a reader that stops reading does not grow the process, and the service is held back', async () => {
    let written = 0
    const sentAll = Promise.withResolvers<void>()
    const chunk = 'x'.repeat(16_384)
    world.service.respond((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const fill = (): void => {
        while (written < 200_000_000) {
          written += chunk.length
          if (!response.write(chunk)) {
            response.once('drain', fill)
            return
          }
        }
      }
      response.on('close', () => sentAll.resolve())
      fill()
    })
    const { hostname, port } = new URL(world.portico.urls[0] ?? '')
    const socket = connect({ host: hostname, port: Number(port) })
    await once(socket, 'connect')
    const lines = Object.entries({ ...world.headers(), host: 'x' }).map(([name, value]) => `${name}: ${value}`)
    socket.write(`GET ${paths.watch} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
    await once(socket, 'readable')
    const before = bufferedBytes()
    await untilUnchanged(() => written, 1_000)
    // Three sockets in the kernel buffer data, and the gateway 64 KB.
    expect(written).toBeLessThan(30_000_000)
    await expect.poll(() => bufferedBytes() - before).toBeLessThan(10_000_000)
    socket.destroy()
    await sentAll.promise
  })

  test('/explain names the operation and the stage, and the OpenAPI document has the event stream', async () => {
    world.service.respond((_request, response) => void response.writeHead(500).end())
    const requestId = 'explain-feed'
    await (await world.open(paths.watch, { 'x-request-id': requestId })).text()
    const [explained] = await (await fetch(`${world.portico.operationsUrl}/explain/${requestId}`)).json()
    expect(explained).toMatchObject({ operation: 'feed.watch', code: 'SYSTEM.UPSTREAM_INVALID_RESPONSE' })
    const document = await (await fetch(`${world.portico.urls[0]}/openapi.json`)).json()
    const { get } = document.paths['/web/v1/consumer/feed/{feed_id}/events']
    expect(get.responses['200'].content).toEqual({ 'text/event-stream': { schema: { type: 'string' } } })
    expect(get['x-portico'].reply).toBe('events')
  })

  test('feed.watch: the stream closes within a second after its caller has left the workspace', async () => {
    world.service.respond((_request, response) => void openEvents(response))
    const { accessToken: token } = await signIn(world.portico, 'member@demo.test')
    const reader = readerOf(await world.open(paths.watch, { authorization: `Bearer ${token}` }))
    await reader.next()
    const ending = reader.end()
    const left = await world.portico.call('POST', '/web/v1/consumer/workspaces/current/leave', { token, workspace })
    expect(left.status, left.text).toBe(200)
    expect(await timed(ending)).toBeLessThan(1_000)
  })

  test('feed.watch: the stream closes within a second after its session is ended', async () => {
    world.service.respond((_request, response) => void openEvents(response))
    const reader = readerOf(await world.open(paths.watch))
    await reader.next()
    const ending = reader.end()
    const logout = await world.portico.call('POST', '/web/v1/consumer/auth/logout', {
      token: world.session.accessToken,
      body: {},
    })
    expect(logout.status, logout.text).toBe(200)
    expect(await timed(ending)).toBeLessThan(1_000)
    await expect
      .poll(() => world.portico.log.filter(({ operation }) => operation === 'feed.watch').at(-1))
      .toMatchObject({ streamEnd: 'revoked' })
    expect(await codeOf(await world.open(paths.watch))).toEqual([401, 'ACCESS.TOKEN_INVALID'])
  })
})
