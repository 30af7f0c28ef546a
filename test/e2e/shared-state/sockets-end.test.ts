import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { recheckMs } from '../../../src/gateway/pipeline/open-streams.ts'
import { bufferedBytes, untilUnchanged } from '../../harness/buffers.ts'
import { haproxyIsInstalled, startHaproxy } from '../../harness/haproxy.ts'
import { inTopology, needs } from '../../harness/needs.ts'
import { nginxIsInstalled, startNginx } from '../../harness/nginx.ts'
import { root } from '../../harness/settings.ts'
import { signIn } from '../../harness/sign-in.ts'
import { frameOf } from '../../harness/socket-service.ts'
import { type Connection, path, type SocketsWorld, startSocketsWorld } from '../sockets-world.ts'

const page = readFileSync(join(root, 'docs/guides/websockets.md'), 'utf8')
const guide = /^```nginx\n(.*?)^```$/ms.exec(page)?.[1] ?? ''

let world: SocketsWorld
beforeAll(async () => {
  world = await startSocketsWorld({})
})
afterEach(() => {
  vi.useRealTimers()
  world.durations.resume()
  return world.reset()
})
afterAll(() => world?.stop())

describe('ticker.follow: closes an open socket', () => {
  const openEverywhere = (token: string): Promise<Connection[]> =>
    Promise.all(world.portico.urls.map((url) => world.open(path, { authorization: `Bearer ${token}` }, { url })))
  const ping = async (connections: Connection[]): Promise<void> => {
    for (const connection of connections) connection.send('alive')
    await expect.poll(() => connections.map(({ messages }) => messages.at(-1))).toEqual(connections.map(() => 'alive'))
  }
  /** Cached sessions do not expire meanwhile, so only the message about the change can close the sockets. */
  const expectRevoked = async (connections: Connection[], act: () => Promise<unknown>): Promise<void> => {
    await ping(connections)
    vi.useFakeTimers({ toFake: ['Date'] })
    await act()
    await Promise.all(connections.map(({ closed }) => closed))
    vi.useRealTimers()
    expect(connections.map(({ closeFrame }) => closeFrame())).toEqual(connections.map(() => [1008, 'revoked']))
  }
  const echoes = ({ messages }: Connection, count: number) => expect.poll(() => messages.length).toBe(count)

  test('with 1008 after a logout, on every replica', async () => {
    const own = await signIn(world.portico)
    const connections = await openEverywhere(own.accessToken)
    const logout = () =>
      world.portico.call('POST', '/web/v1/consumer/auth/logout', { token: own.accessToken, body: {} })
    await expectRevoked(connections, async () => expect((await logout()).status).toBe(200))
    await expect.poll(() => world.service.open).toEqual([])
  })

  test('with 1008 after another session ends all others', async () => {
    const own = await signIn(world.portico)
    const other = await signIn(world.portico)
    const connections = await openEverywhere(own.accessToken)
    const end = () =>
      world.portico.call('POST', '/web/v1/consumer/security/sessions/terminate-all', {
        token: other.accessToken,
        body: {},
      })
    await expectRevoked(connections, async () => expect((await end()).status).toBe(200))
    Object.assign(world.session, await signIn(world.portico))
  })

  test('with 1008 when nothing was sent for the idle timeout; the log line has its duration and bytes', async () => {
    const { idleTimeoutMs } = world.portico.settings.streams
    world.durations.stop()
    const connection = await world.open(path, { 'x-request-id': 'idle-one' })
    for (let round = 1; round <= 2; round++) {
      world.durations.skip(idleTimeoutMs - 1)
      connection.send(`alive ${round}`)
      await echoes(connection, round)
    }
    world.durations.skip(idleTimeoutMs + recheckMs)
    await connection.closed
    expect(connection.closeFrame()).toEqual([1008, 'idle'])
    const line = await world.closedLine('idle-one')
    // Two masked frames of 13 bytes, and two unmasked ones of 9.
    expect(line).toMatchObject({ operation: 'ticker.follow', streamEnd: 'idle', bytesReceived: 26, bytesSent: 18 })
    expect(line?.ms).toBe(3 * idleTimeoutMs + recheckMs - 2)
  })

  test('with 1001 at its maximum lifetime, although messages are sent', async () => {
    const { idleTimeoutMs, maxLifetimeMs } = world.portico.settings.streams
    world.durations.stop()
    const connection = await world.open()
    let sent = 0
    for (let atMs = 0; atMs + idleTimeoutMs < maxLifetimeMs; atMs += idleTimeoutMs - 1) {
      world.durations.skip(idleTimeoutMs - 1)
      connection.send('tick')
      sent += 1
      await echoes(connection, sent)
    }
    world.durations.skip(idleTimeoutMs + recheckMs)
    await connection.closed
    expect(connection.closeFrame()).toEqual([1001, 'lifetime'])
  })

  const broken = [1011, 'service']
  test.each<[string, (socket: Socket) => unknown, string[], unknown]>([
    ['ends', (socket) => socket.end(), [], broken],
    ['is destroyed', (socket) => socket.destroy(), [], broken],
    ['resets', (socket) => socket.resetAndDestroy(), [], broken],
    ['ends after a message', (socket) => socket.end(frameOf(1, Buffer.from('last'), false)), ['last'], broken],
    ['ends within a frame', (socket) => socket.end(Buffer.from([0x82, 100, 1, 2, 3])), [], undefined],
    ['ends within the head of a frame', (socket) => socket.end(Buffer.from([0x82])), [], undefined],
    [
      'ends after its close frame',
      (socket) => socket.end(frameOf(8, Buffer.from([0x03, 0xe8]), false)),
      [],
      [1000, ''],
    ],
  ])('with 1011 when a service without a close frame %s', async (name, end, messages, close) => {
    // In the packets of the handshake, immediately afterwards, and later.
    const isAbrupt = ['is destroyed', 'resets'].includes(name)
    for (const delayMs of isAbrupt ? [100] : [null, 0, 100]) {
      world.service.respond = (request, socket) => {
        if (delayMs === null) socket.cork()
        world.service.accept(request, socket)
        if (delayMs === null) end(socket)
        else setTimeout(() => end(socket), delayMs)
      }
      const connection = await world.open()
      await connection.closed
      expect([connection.messages, connection.closeFrame()], `after ${delayMs} ms`).toEqual([messages, close])
    }
    await expect.poll(() => world.service.open).toEqual([])
  })

  test('with 1011 when the service ends while the client sends, and the log names the service', async () => {
    const connection = await world.open(path, { 'x-request-id': 'service-ended' })
    for (let sent = 1; sent <= 20; sent++) connection.send('x'.repeat(60_000))
    connection.send('die')
    await connection.closed
    expect(connection.closeFrame()).toEqual(broken)
    expect(await world.closedLine('service-ended')).toMatchObject({ streamEnd: 'service' })
  })

  test('a client that ends without a close frame ends the connection to the service', async () => {
    const connection = await world.open()
    const [upstream] = world.service.open
    connection.socket.end()
    await expect.poll(() => world.service.open).toEqual([])
    expect(upstream?.readableEnded).toBe(true)
    await connection.closed
    expect(connection.closeFrame()).toBeUndefined()
  })

  test('with 1011 behind HAProxy', needs(haproxyIsInstalled(), 'HAProxy is not installed'), async () => {
    const haproxy = await startHaproxy([`server one ${new URL(world.portico.urls[0] ?? '').host}`])
    onTestFinished(() => haproxy.stop())
    await expect.poll(() => fetch(haproxy.url).then(Boolean, () => false)).toBe(true)
    for (const end of ['end', 'resetAndDestroy'] as const) {
      const connection = await world.open(path, {}, { url: haproxy.url })
      world.service.open[0]?.[end]()
      await connection.closed
      expect(connection.closeFrame()).toEqual(broken)
    }
  })

  test(
    'nginx with the lines of the guide forwards a socket',
    needs(nginxIsInstalled(), 'nginx is not installed'),
    async () => {
      const [map = '', ...location] = guide.split('# in the location:')
      const target = `http://${new URL(world.portico.urls[0] ?? '').host};\nproxy_http_version 1.1;\n${location}`
      const nginx = await startNginx({ '/': target.trimEnd().replace(/;$/, '') }, map)
      onTestFinished(() => nginx.stop())
      const connection = await world.open(path, {}, { url: nginx.url })
      connection.send('alive')
      await expect.poll(() => connection.messages).toEqual(['alive'])
      connection.socket.end()
      await connection.closed
    },
  )

  test('when the service dies, and the service when the client dies', async () => {
    const died = await world.open()
    died.send('die')
    await died.closed
    expect(died.closeFrame()).toEqual(broken)
    const reset = await world.open()
    await expect.poll(() => world.service.open.length).toBe(1)
    reset.socket.resetAndDestroy()
    await expect.poll(() => world.service.open).toEqual([])
  })

  test('without a close frame inside a frame of the service', async () => {
    world.service.respond = (request, socket) => {
      world.service.accept(request, socket)
      socket.write(Buffer.from([0x82, 100, 1, 2, 3]))
    }
    const own = await signIn(world.portico)
    const connection = await world.open(path, { authorization: `Bearer ${own.accessToken}` })
    await expect.poll(() => connection.text().length).toBeGreaterThan(0)
    await pause(300)
    await world.portico.call('POST', '/web/v1/consumer/auth/logout', { token: own.accessToken, body: {} })
    await connection.closed
    expect(connection.closeFrame()).toBeUndefined()
  })
})

describe('ticker.follow: a service that does not accept', () => {
  test.each<[string, (socket: Socket) => void, number, string]>([
    [
      'with a declared code',
      (socket) => {
        const body = JSON.stringify({ success: false, code: 'TICKER.CLOSED', message: '', data: null })
        const head = `HTTP/1.1 409 Conflict\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`
        socket.end(`${head}\r\n\r\n${body}`)
      },
      409,
      'TICKER.CLOSED',
    ],
    [
      'with an HTML page',
      (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\nsecret'),
      502,
      'SYSTEM.UPSTREAM_INVALID_RESPONSE',
    ],
    [
      'with a wrong Sec-WebSocket-Accept',
      (socket) =>
        socket.write(
          'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n',
        ),
      502,
      'SYSTEM.UPSTREAM_INVALID_RESPONSE',
    ],
    ['by closing the connection', (socket) => socket.destroy(), 502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE'],
    ['by a reset', (socket) => socket.resetAndDestroy(), 502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE'],
    [
      'by an end within the head',
      (socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n'),
      502,
      'SYSTEM.UPSTREAM_INVALID_RESPONSE',
    ],
  ])('%s', async (_name, respond, status, code) => {
    world.service.respond = (_request, socket) => respond(socket)
    expect(await world.refusalOf(path)).toEqual([status, code])
    expect((await world.begin(path).head).startsWith(`HTTP/1.1 ${status}`)).toBe(true)
  })

  test('503 SYSTEM.UNAVAILABLE passes on Retry-After, and interim responses do not matter', async () => {
    const interim = 'HTTP/1.1 100 Continue\r\n\r\n'
    world.service.respond = (_request, socket) =>
      socket.end(`${interim}HTTP/1.1 503 Later\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n`)
    expect((await world.begin(path).head).toLowerCase()).toContain('retry-after: 120\r\n')
    world.service.respond = (request, socket) => {
      socket.write(interim)
      world.service.accept(request, socket)
    }
    const connection = await world.open()
    connection.send('hello')
    await expect.poll(() => connection.messages).toEqual(['hello'])
    connection.socket.destroy()
  })

  test('502 SYSTEM.UPSTREAM_INVALID_RESPONSE: a subprotocol or extension that the client did not offer', async () => {
    for (const header of ['Sec-WebSocket-Protocol', 'Sec-WebSocket-Extensions']) {
      world.service.respond = (request, socket) => world.service.accept(request, socket, { [header]: 'other' })
      expect(await world.refusalOf(path)).toEqual([502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE'])
    }
    await expect.poll(() => world.service.open).toEqual([])
  })

  test('a client that disconnects during the handshake ends it at the service', async () => {
    const reached = Promise.withResolvers<Socket>()
    world.service.respond = (_request, socket) => reached.resolve(socket)
    // `openCount` reads the metrics of the first replica.
    const [url = ''] = world.portico.urls
    const { socket } = world.begin(path, {}, { url })
    const upstream = await reached.promise
    const ended = once(upstream.resume(), 'end')
    socket.destroy()
    await ended
    upstream.destroy()
    await expect.poll(world.openCount).toBe(0)
  })
})

describe('ticker.follow: a slow reader', inTopology('embedded'), () => {
  let patient: SocketsWorld
  beforeAll(async () => {
    patient = await startSocketsWorld({})
  })
  afterAll(() => patient?.stop())

  test('stops the service from sending, and the process does not grow', async () => {
    let written = 0
    patient.service.respond = (request, socket) => {
      patient.service.accept(request, socket)
      const frame = frameOf(2, Buffer.alloc(60_000), false)
      const write = (): void => {
        while (!socket.destroyed && written < 200_000_000) {
          written += frame.length
          if (!socket.write(frame)) return void socket.once('drain', write)
        }
      }
      write()
    }
    const before = bufferedBytes()
    const connection = await patient.open()
    connection.socket.pause()
    await untilUnchanged(() => written, 300)
    const held = written
    // Three sockets in the kernel buffer data.
    expect(held).toBeLessThan(30_000_000)
    await expect.poll(() => bufferedBytes() - before).toBeLessThan(5_000_000)
    expect(patient.service.open.length).toBe(1)
    // A socket whose reader stops is closed after the idle timeout.
    const { idleTimeoutMs } = patient.portico.settings.streams
    patient.durations.skip(idleTimeoutMs + recheckMs)
    await expect.poll(() => patient.service.open).toEqual([])
    expect(written).toBe(held)
  })
})

test('portico_open_streams is 0 after every socket has closed', inTopology('embedded'), async () => {
  await expect.poll(world.openCount).toBe(0)
  const metrics = await (await fetch(`${world.portico.operationsUrl}/metrics`)).text()
  expect(metrics).toMatch(/portico_streams_ended_total\{operation="ticker.follow",reason="revoked"\} [1-9]/)
  expect(metrics).toMatch(/portico_socket_bytes_total\{operation="ticker.follow",direction="sent"\} [1-9]/)
})

test('a shutdown closes open sockets with 1001, and does not wait for their clients', async () => {
  const [url = ''] = world.portico.urls
  const connection = await world.open(path, {}, { url })
  // Neither would end before the shutdown, which waits this long for requests.
  const { idleTimeoutMs } = world.portico.settings.streams
  expect(world.portico.settings.shutdown.timeoutMs).toBeLessThan(idleTimeoutMs)
  await world.portico.running.stop()
  await connection.closed
  expect(connection.closeFrame()).toEqual([1001, 'shutdown'])
})
