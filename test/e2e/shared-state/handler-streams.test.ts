import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { recheckMs } from '../../../src/gateway/pipeline/open-streams.ts'
import { Refusal, type ServerSentEvent } from '../../../src/kernel/index.ts'
import { developmentIds } from '../../../src/seed/development.ts'
import { fromOwnPage, openPage } from '../../harness/browser.ts'
import { signIn } from '../../harness/sign-in.ts'
import { type HandlerStreamsWorld, path, pulses, startHandlerStreams, streamOf } from '../handler-streams-world.ts'

const first = 'id: 1\nevent: pulse\ndata: {"beat":1}\n\n'
const stallMs = 1_000

let world: HandlerStreamsWorld
beforeAll(async () => {
  world = await startHandlerStreams((settings) => {
    settings.streams.maxPerAccount = 3
    settings.requests.downloadStallMs = stallMs
  })
})
afterEach(() => world.durations.resume())
afterAll(() => world?.stop())

/** Every stream that opens from now on resolves the promise once its generator has ended. */
function watchEnd(): Promise<void> {
  const ended = Promise.withResolvers<void>()
  world.respond((request) => pulses(request, ended.resolve))
  return ended.promise
}

const codeOf = async (response: Response) => [response.status, (await response.json()).code]

describe('a handler that sends events', () => {
  test('pulses.watch 200: headers, fields and Last-Event-ID', async () => {
    const ids: (string | null)[] = []
    world.respond((request) => {
      ids.push(request.lastEventId)
      return pulses(request)
    })
    for (const last of [undefined, '', '41']) {
      const response = await world.open(last === undefined ? {} : { 'last-event-id': last })
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
      expect(response.headers.get('cache-control')).toBe('no-store')
      expect(response.headers.get('x-accel-buffering')).toBe('no')
      const stream = streamOf(response)
      expect(await stream.next()).toBe(first)
      await stream.cancel()
    }
    expect(ids).toEqual([null, null, '41'])
  })

  test('pulses.watch 400 VALIDATION.INVALID_PARAMETER: a malformed or repeated Last-Event-ID', async () => {
    for (const value of ['é', 'x'.repeat(257)])
      expect(await codeOf(await world.open({ 'last-event-id': value }))).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    const repeated = new Headers(world.headers())
    const { hostname, port } = new URL(world.portico.urls[0] ?? '')
    const socket = connect(Number(port), hostname)
    const lines = [...repeated].map(([name, value]) => `${name}: ${value}\r\n`).join('')
    socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n${lines}last-event-id: 1\r\nlast-event-id: 2\r\n\r\n`)
    const [answer]: Buffer[] = await once(socket, 'data')
    expect(answer?.toString()).toMatch(/^HTTP\/1.1 400 /)
    socket.destroy()
  })

  test('pulses.watch 404: a refusal before the first event is a JSON reply', async () => {
    world.respond(async () => {
      throw new Refusal('RESOURCE.NOT_FOUND')
    })
    expect(await codeOf(await world.open())).toEqual([404, 'RESOURCE.NOT_FOUND'])
    await expect.poll(world.openCount).toBe('0')
  })

  test('pulses.watch 500: a reply that is not an async iterable', async () => {
    world.respond(async () => JSON.parse('[]'))
    expect(await codeOf(await world.open())).toEqual([500, 'SYSTEM.INTERNAL_ERROR'])
    await expect.poll(world.openCount).toBe('0')
  })

  test('pulses.watch 200 for HEAD: the head only, and the events end', async () => {
    const ended = Promise.withResolvers<void>()
    world.respond(({ signal }) => {
      signal.addEventListener('abort', () => ended.resolve())
      return pulses({ signal })
    })
    const response = await world.open({}, { method: 'HEAD' })
    expect([response.status, await response.text()]).toEqual([200, ''])
    await ended.promise
  })

  test('pulses.watch 429 ACCESS.RATE_LIMITED: above the number of open streams of the account', async () => {
    world.respond((request) => pulses(request))
    const open = await Promise.all([1, 2, 3].map(() => world.open()))
    expect(await codeOf(await world.open())).toEqual([429, 'ACCESS.RATE_LIMITED'])
    for (const each of open) await each.body?.cancel()
  })

  test('pulses.watch 200: EventSource with the session cookie needs a ticket', async () => {
    world.respond((request) => pulses(request))
    const page = await openPage(world.portico)
    const request = { workspace: developmentIds.workspace, body: { path } }
    const { url } = (await page.call('POST', '/auth/browser-session/ticket', request)).body.data
    const open = () => fetch(world.portico.urls[0] + url, { headers: { ...fromOwnPage, cookie: page.cookie } })
    const stream = streamOf(await open())
    expect(await stream.next()).toBe(first)
    expect(await codeOf(await open())).toEqual([403, 'ACCESS.TICKET_INVALID'])
    await page.call('POST', '/auth/browser-session/end')
    await stream.end()
    await expect.poll(world.lastEnd).toBe('revoked')
  })

  test('pulses.watch: comments keep a silent stream open until its lifetime', async () => {
    const { idleTimeoutMs, maxLifetimeMs } = world.portico.settings.streams
    const ended = watchEnd()
    world.durations.stop()
    const stream = streamOf(await world.open())
    expect(await stream.next()).toBe(first)
    let silentMs = 0
    for (; silentMs <= idleTimeoutMs; silentMs += 15_500) {
      world.durations.skip(15_500)
      expect(await stream.next()).toContain(': alive\n\n')
    }
    world.durations.skip(maxLifetimeMs - silentMs + 100)
    await stream.end()
    await ended
    await expect.poll(world.lastEnd).toBe('lifetime')
    await expect.poll(world.openCount).toBe('0')
  })
})

describe('the generator of a handler ends', () => {
  test('when its client disconnects', async () => {
    const ended = watchEnd()
    const stream = streamOf(await world.open())
    await stream.next()
    await stream.cancel()
    await ended
    await expect.poll(world.lastEnd).toBe('client')
  })

  test('within a second after the session ends, on every replica', async () => {
    const own = await signIn(world.portico, 'member@demo.test')
    let running = 0
    world.respond((request) => {
      running += 1
      return pulses(request, () => {
        running -= 1
      })
    })
    const replicas = world.portico.urls.map((_, replica) => replica)
    const streams = await Promise.all(
      replicas.map(async (replica) => streamOf(await world.open({}, { token: own.accessToken, replica }))),
    )
    for (const stream of streams) expect(await stream.next()).toBe(first)
    await world.portico.call('POST', '/web/v1/consumer/auth/logout', { token: own.accessToken, body: {} })
    await Promise.all(streams.map((stream) => stream.end()))
    await expect.poll(() => running).toBe(0)
    await expect.poll(world.lastEnd).toBe('revoked')
  })

  test('at its own end, in an orderly way', async () => {
    world.respond(async function* () {
      yield { data: 'only' }
    })
    const stream = streamOf(await world.open())
    expect(await stream.next()).toBe('data: "only"\n\n')
    await stream.end()
    await expect.poll(world.lastEnd).toBe('service')
  })

  test.each([
    ['it throws', { data: 1 }, new Error('broken')],
    ['an id has a line break', { id: '1\ndata: 2', data: 1 }, undefined],
  ])('and the connection breaks when %s', async (_, event, error) => {
    const read = Promise.withResolvers<void>()
    world.respond(async function* (): AsyncGenerator<ServerSentEvent> {
      yield { data: 0 }
      await read.promise
      yield event
      if (error) throw error
    })
    const stream = streamOf(await world.open())
    expect(await stream.next()).toBe('data: 0\n\n')
    read.resolve()
    await expect(stream.end()).rejects.toThrow()
    const last = () => world.portico.log.filter(({ operation }) => operation === 'pulses.watch').at(-1)
    await expect.poll(last).toMatchObject({ code: 'SYSTEM.INTERNAL_ERROR', level: 'error' })
    await expect.poll(world.openCount).toBe('0')
  })

  test('when its client does not read: few events are produced, and the reason is `slow`', async () => {
    let produced = 0
    const ended = Promise.withResolvers<void>()
    world.respond(async function* () {
      try {
        for (;;) {
          produced += 1
          yield { data: 'x'.repeat(10_000) }
        }
      } finally {
        ended.resolve()
      }
    })
    const { hostname, port } = new URL(world.portico.urls[0] ?? '')
    const socket = connect(Number(port), hostname)
    socket.on('error', () => undefined)
    const lines = Object.entries({ ...world.headers(), host: 'x' }).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
    await once(socket, 'readable')
    await ended.promise
    socket.destroy()
    // The kernel buffers several megabytes.
    expect(produced).toBeLessThan(2_000)
    await expect.poll(world.lastEnd).toBe('slow')
  })

  test('although it ignores the signal and never continues', async () => {
    world.respond(async function* () {
      yield { data: 1 }
      await new Promise(() => undefined)
    })
    const stream = streamOf(await world.open())
    await stream.next()
    await stream.cancel()
    await expect.poll(world.openCount).toBe('0')
    await pause(recheckMs)
  })
})

test('a shutdown ends open streams, and does not wait for their clients', async () => {
  const ended = watchEnd()
  const stream = streamOf(await world.open())
  await stream.next()
  await world.portico.running.stop()
  await stream.end()
  await ended
  expect(world.lastEnd()).toBe('shutdown')
})
