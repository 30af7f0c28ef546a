import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { anonymous, own } from '../../src/contract/policies.ts'
import { bufferedBytes, untilUnchanged } from '../harness/buffers.ts'
import { upstreamAt } from '../harness/settings.ts'
import { type PassThroughWorld, paths, startPassThroughWorld } from './pass-through-world.ts'

const idleMs = 2_000
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
    const limits = { breaker, streamTimeoutMs: 60_000, maxStreamBytes: 1_000_000_000 }
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
    const start = performance.now()
    expect(await codeOf(await world.open(path))).toEqual([504, 'SYSTEM.UPSTREAM_TIMEOUT'])
    expect(performance.now() - start).toBeGreaterThanOrEqual(idleMs - 10)
    await closed.promise
  })

  test(`${operation} 200: a service that goes silent after the head breaks the connection`, async () => {
    const closed = Promise.withResolvers<void>()
    world.service.respond((_request, response) => {
      response.on('close', () => closed.resolve())
      response.writeHead(200, { 'content-type': 'text/plain' }).write('half')
    })
    const response = await world.open(path)
    expect(response.status).toBe(200)
    await expect(response.text()).rejects.toThrow()
    await closed.promise
    await expect.poll(lastCode).toBe('SYSTEM.UPSTREAM_TIMEOUT')
  })

  test(`${operation} 200: a slow service is not idle as long as it sends something`, async () => {
    world.service.respond(async (_request, response) => {
      for (let part = 0; part < 8; part += 1) {
        response.write(String(part))
        await pause(idleMs / 4)
      }
      response.end()
    })
    const response = await world.open(path)
    expect([response.status, await response.text()]).toEqual([200, '01234567'])
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
    await untilUnchanged(() => written, 1_000)
    // Three sockets in the kernel buffer data.
    expect(written).toBeLessThan(30_000_000)
    await expect.poll(() => bufferedBytes() - before).toBeLessThan(10_000_000)
    // The service cannot send while the client does not read, so it is not idle.
    await pause(2 * idleMs)
    maxBytes = written + 1_000_000
    const text = await readAll(socket)
    expect(text.endsWith('0\r\n\r\n')).toBe(true)
    expect(text.length).toBeGreaterThan(written)
  })
})

describe('a slow upload', () => {
  test('feed.import 200: while a slow client sends its body, the service is not idle', async () => {
    world.service.respond((request, response) => void request.resume().on('end', () => response.end('done')))
    const socket = sendRaw('POST', paths.import, 'content-length: 3\r\n')
    const received = readAll(socket)
    for (const part of 'abc') {
      await pause(1.2 * idleMs)
      socket.write(part)
    }
    expect(await received).toMatch(/^HTTP\/1\.1 200 [\s\S]*done/)
  })

  test('feed.import 504 SYSTEM.UPSTREAM_TIMEOUT: a service that stops reading the body is idle', async () => {
    world.service.respond((request) => void request.pause())
    const socket = sendRaw('POST', paths.import, 'content-length: 50000000\r\n')
    socket.write(Buffer.alloc(50_000_000))
    expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 504 /)
  })
})
