import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { anonymous, own } from '../../src/contract/policies.ts'
import { bufferedBytes, untilUnchanged } from '../harness/buffers.ts'
import { upstreamAt } from '../harness/settings.ts'
import { type PassThroughWorld, paths, readerOf, startPassThroughWorld } from './pass-through-world.ts'

/** Long, so that only a skip reaches it. */
const idleMs = 60_000
const maxPerAccount = 3
const maxPerAddress = 2
const open = '/web/v1/consumer/open'
const rateLimited = [429, 'ACCESS.RATE_LIMITED']

async function codeOf(response: Response): Promise<[number, string]> {
  return [response.status, (JSON.parse(await response.text()) as { code: string }).code]
}

let world: PassThroughWorld
beforeAll(async () => {
  world = await startPassThroughWorld((settings, url) => {
    const breaker = { failures: 1_000, openMs: 200 }
    const limits = { breaker, streamTimeoutMs: 100_000_000, maxStreamBytes: 1_000_000_000 }
    const policy = { channel: 'none', idempotent: false, changesRights: false } as const
    settings.passThrough = [
      {
        ...upstreamAt(`${url}/app`, { audience: 'legacy', ...limits }),
        prefix: paths.legacy,
        methods: ['GET', 'POST'],
        policy: { ...own, ...policy },
        requestHeaders: [],
        responseHeaders: [],
      },
      {
        ...upstreamAt(`${url}/open`, { audience: 'open', ...limits }),
        prefix: open,
        methods: ['GET'],
        policy: { ...anonymous, ...policy },
        requestHeaders: [],
        responseHeaders: [],
      },
    ]
    settings.backends.feed = upstreamAt(`${url}/base`, { audience: 'service-under-test', ...limits })
    settings.streams = { ...settings.streams, idleTimeoutMs: idleMs }
    settings.requests.maxTransfersPerAccount = maxPerAccount
    settings.requests.maxTransfersPerAddress = maxPerAddress
  })
})
afterAll(() => world?.stop())

/** An upstream is not idle while it waits for the gateway, so one idle time can be too early. */
function skipUntil(isDone: () => boolean): Promise<void> {
  const skipped = () => {
    if (!isDone()) world.durations.skip(idleMs)
    return isDone()
  }
  return expect.poll(skipped).toBe(true)
}

/** The client decides when to read the response. */
function sendRaw(method: string, target: string, extra = ''): Socket {
  const { hostname, port } = new URL(world.portico.urls[0] ?? '')
  const socket = connect({ host: hostname, port: Number(port) }).on('error', () => undefined)
  const lines = Object.entries({ ...world.headers(), host: 'x', connection: 'close' })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.write(`${method} ${target} HTTP/1.1\r\n${head}${extra}\r\n`)
  return socket
}

/** Resolves with the response once the connection has closed. */
async function readAll(socket: Socket): Promise<string> {
  const chunks: string[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk.toString('latin1'))).resume()
  await once(socket, 'close')
  return chunks.join('')
}

describe('the number of open requests', () => {
  const anonymously = { authorization: null, 'x-workspace-id': null }

  test.each<[string, string, Record<string, string | null>, number]>([
    ['feed.report', paths.report, {}, maxPerAccount],
    ['passThrough.legacy', `${paths.legacy}/x`, {}, maxPerAccount],
    ['passThrough.open', `${open}/x`, anonymously, maxPerAddress],
  ])('%s 429 ACCESS.RATE_LIMITED: above the limit, until an open one ends', async (_name, path, headers, limit) => {
    const held: ServerResponse[] = []
    world.service.respond((_request, response) => void held.push(response))
    const waiting = Array.from({ length: limit }, () => world.open(path, headers))
    await expect.poll(() => held.length).toBe(limit)
    const refused = await world.open(path, headers)
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(await codeOf(refused)).toEqual(rateLimited)
    expect(world.service.requests.length).toBe(limit)
    held.shift()?.end('one')
    expect(await (await Promise.race(waiting)).text()).toBe('one')
    await expect
      .poll(async () => {
        // An accepted request reaches the service, which responds only now.
        world.service.respond((_request, response) => void response.end('next'))
        return (await world.open(path, headers)).text()
      })
      .toBe('next')
    for (const response of held) response.end('rest')
    for (const response of await Promise.all(waiting)) expect(response.status).toBe(200)
  })

  test('feed.report 429 ACCESS.RATE_LIMITED: requests below a prefix count, too, and event streams do not', async () => {
    const held: ServerResponse[] = []
    world.service.respond((_request, response) => void held.push(response))
    const targets = [paths.report, ...Array.from({ length: maxPerAccount - 1 }, () => `${paths.legacy}/x`)]
    const waiting = targets.map((path) => world.open(path))
    await expect.poll(() => held.length).toBe(maxPerAccount)
    expect(await codeOf(await world.open(paths.report))).toEqual(rateLimited)
    world.service.respond((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: 1\n\n')
    })
    expect((await world.open(paths.watch)).status).toBe(200)
    for (const response of held) response.end()
    await Promise.all(waiting)
  })
})

describe.each([
  ['feed.report', paths.report],
  ['passThrough.legacy', `${paths.legacy}/x`],
])('a slow service or client of %s', (operation, path) => {
  const lastCode = () => world.portico.log.findLast((line) => line.operation === operation)?.code

  test(`${operation} 504 SYSTEM.UPSTREAM_TIMEOUT: the service sends nothing for the idle timeout`, async () => {
    const closed = Promise.withResolvers<void>()
    world.service.respond((_request, response) => void response.on('close', () => closed.resolve()))
    let isAnswered = false
    const opened = world.open(path).finally(() => {
      isAnswered = true
    })
    await expect.poll(() => world.service.requests.length).toBe(1)
    world.durations.skip(idleMs / 2)
    await world.metric('portico_open_streams')
    expect(isAnswered).toBe(false)
    world.durations.skip(idleMs / 2)
    expect(await codeOf(await opened)).toEqual([504, 'SYSTEM.UPSTREAM_TIMEOUT'])
    await closed.promise
  })

  test(`${operation} 200: a service that goes silent after the head breaks the connection`, async () => {
    let isClosed = false
    world.service.respond((_request, response) => {
      response.on('close', () => {
        isClosed = true
      })
      response.writeHead(200, { 'content-type': 'text/plain' }).write('half')
    })
    const response = await world.open(path)
    expect(response.status).toBe(200)
    const broken = expect(response.text()).rejects.toThrow()
    await skipUntil(() => isClosed)
    await broken
    await expect.poll(lastCode).toBe('SYSTEM.UPSTREAM_TIMEOUT')
  })

  test(`${operation} 200: a slow service is not idle as long as it sends something`, async () => {
    const accepted = Promise.withResolvers<ServerResponse>()
    world.service.respond((_request, response) => {
      response.write('0')
      accepted.resolve(response)
    })
    const response = await world.open(path)
    expect(response.status).toBe(200)
    const reader = readerOf(response)
    expect(await reader.next()).toBe('0')
    const slow = await accepted.promise
    for (const part of '1234567') {
      world.durations.skip(0.75 * idleMs)
      slow.write(part)
      expect(await reader.next()).toBe(part)
    }
    slow.end()
    expect(await reader.next()).toBeNull()
  })

  test(`${operation} 200: a reader that stops does not grow the process, and gets the rest later`, async () => {
    const chunk = Buffer.alloc(16_384, 'x')
    let maxBytes = 200_000_000
    let written = 0
    world.service.respond((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream' })
      const fill = (): void => {
        while (written < maxBytes) {
          written += chunk.length
          if (!response.write(chunk)) return void response.once('drain', fill)
        }
        response.end()
      }
      fill()
    })
    const socket = sendRaw('GET', path)
    await once(socket, 'readable')
    const before = bufferedBytes()
    await untilUnchanged(() => written, 500)
    // Three sockets in the kernel buffer data.
    expect(written).toBeLessThan(30_000_000)
    await expect.poll(() => bufferedBytes() - before).toBeLessThan(10_000_000)
    // The service cannot send while the client does not read, so it is not idle.
    for (let times = 0; times < 3; times += 1) world.durations.skip(idleMs)
    maxBytes = written + 1_000_000
    const text = await readAll(socket)
    expect(text.endsWith('0\r\n\r\n')).toBe(true)
    expect(text.length).toBeGreaterThan(written)
  })
})

describe('a slow upload', () => {
  test('feed.import 200: while a slow client sends its body, the service is not idle', async () => {
    world.service.respond((request, response) => void request.resume().on('end', () => response.end('done')))
    const before = world.durations.timers()
    const socket = sendRaw('POST', paths.import, 'content-length: 3\r\n')
    const received = readAll(socket)
    await expect.poll(() => world.durations.timers()).toBeGreaterThan(before)
    for (const part of 'abc') {
      world.durations.skip(1.2 * idleMs)
      socket.write(part)
    }
    expect(await received).toMatch(/^HTTP\/1\.1 200 [\s\S]*done/)
  })

  test('feed.import 504 SYSTEM.UPSTREAM_TIMEOUT: a service that stops reading the body is idle', async () => {
    world.service.respond((request) => void request.pause())
    const socket = sendRaw('POST', paths.import, 'content-length: 50000000\r\n')
    socket.write(Buffer.alloc(50_000_000))
    let isClosed = false
    const received = readAll(socket).finally(() => {
      isClosed = true
    })
    await skipUntil(() => isClosed)
    expect(await received).toMatch(/^HTTP\/1\.1 504 /)
  })
})
