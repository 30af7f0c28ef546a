import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Portico, startPortico } from '../harness/portico.ts'
import { freePort } from '../harness/postgres.ts'
import { sendRaw } from '../harness/raw.ts'
import { load } from '../harness/site.ts'
import { acceptOf, frameOf, readFrames } from '../harness/socket-service.ts'

/** Like Vite: pages, modules, and a WebSocket that returns each text. */
interface TestBundler {
  server: Server
  url: string
  received: IncomingMessage[]
  sockets: Set<Socket>
}

async function startBundler(): Promise<TestBundler> {
  const received: IncomingMessage[] = []
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => {
    received.push(request)
    if (request.url === '/hangs') return void response.write('a')
    if (request.url === '/cookie') response.setHeader('set-cookie', ['portico-consumer=fixed; Path=/', 'a=b'])
    response.setHeader('content-type', 'text/html').end(`<script>start()</script>${request.url}`)
  })
  server.on('upgrade', (request, socket: Socket) => {
    received.push(request)
    sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    socket.on('end', () => socket.end())
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Protocol: vite-hmr\r\nSet-Cookie: a=b\r\nSec-WebSocket-Accept: ${acceptOf(request.headers['sec-websocket-key'])}\r\n\r\n`,
    )
    readFrames(socket, (opcode, payload) => {
      socket.write(frameOf(opcode, payload, false))
      if (opcode === 8) socket.end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { server, url: `http://127.0.0.1:${port}`, received, sockets }
}

async function openSocket(url: string, path: string): Promise<WebSocket> {
  const socket = new WebSocket(url.replace('http', 'ws') + path, 'vite-hmr')
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener('open', () => resolve())
    socket.addEventListener('error', () => reject(new Error('not opened')))
  })
  return socket
}

describe('the site of a development server', () => {
  let bundler: TestBundler
  let portico: Portico
  beforeAll(async () => {
    bundler = await startBundler()
    const missing = `http://127.0.0.1:${await freePort()}`
    portico = await startPortico({
      adjust: ({ portals }) => {
        portals.CONSUMER.site = { url: bundler.url }
        portals.CONSUMER.hosts = ['localhost']
        portals.SYSTEM.site = { url: missing }
        portals.SYSTEM.hosts = ['ops.localhost']
      },
    })
  })
  afterAll(async () => {
    await portico?.stop()
    bundler.server.closeAllConnections()
    bundler.server.close()
  })

  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    load(portico.url, path, { host: 'localhost:8080', ...headers }, method)

  test('GET 200: pages and modules come from the server, without a policy of the gateway', async () => {
    for (const path of ['/', '/@vite/client', '/src/main.tsx?t=1', '/wallets/5', '/node_modules/.vite/deps/a.js']) {
      const { status, headers, text } = await get(path)
      expect([status, text]).toEqual([200, `<script>start()</script>${path}`])
      expect(headers['content-security-policy']).toBeUndefined()
    }
    expect(bundler.received.at(-1)?.headers.host).toBe(new URL(bundler.url).host)
  })

  test('GET 200: the session cookie and the headers of a portal do not reach the server', async () => {
    const secret = {
      cookie: 'portico-consumer=secret',
      authorization: 'Bearer secret',
      'x-portal-access-code': 'secret',
      'x-client-hash': 'secret',
      'x-workspace-id': 'secret',
      'x-secure-channel-session-id': 'secret',
    }
    await get('/secrets', { ...secret, 'if-none-match': '"a"' })
    const seen = bundler.received.at(-1)
    expect(seen?.url).toBe('/secrets')
    expect(JSON.stringify([seen?.headers, seen?.rawHeaders])).not.toContain('secret"')
    expect(seen?.headers['if-none-match']).toBe('"a"')
  })

  test('GET 200: the server cannot set a cookie, such as the session cookie of a portal', async () => {
    const { status, headers } = await get('/cookie')
    expect([status, headers['set-cookie']]).toEqual([200, undefined])
    const handshake =
      'GET /hmr HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'
    const upgraded = await sendRaw(portico.url, handshake)
    expect(upgraded.status).toBe(101)
    expect(upgraded.text).not.toMatch(/set-cookie/i)
  })

  test('GET 404 ROUTE.NOT_FOUND: chains, the reference, ambiguous paths and other methods stay at the gateway', async () => {
    const before = bundler.received.length
    for (const path of ['/web/v1/consumer/nothing', '/web', '/api/x', '/WEB/x', '/..%2fx', '/%00'])
      expect(JSON.parse((await get(path)).text).code).toBe('ROUTE.NOT_FOUND')
    expect((await get('/openapi.json')).status).toBe(200)
    expect((await get('/', {}, 'POST')).status).toBe(404)
    expect((await get('/', { host: 'evil.example' })).status).toBe(404)
    expect(bundler.received.length).toBe(before)
  })

  test('GET 502: a page names the URL that is not reachable, and the setting', async () => {
    const { status, headers, text } = await get('/', { host: 'ops.localhost' })
    expect([status, headers['content-type']]).toEqual([502, 'text/plain; charset=utf-8'])
    expect(text).toMatch(/^The front end at http:\/\/127\.0\.0\.1:\d+ is not reachable \(ECONNREFUSED\)\.\n/)
    expect(text).toContain('npm run dev')
    expect(text).toContain('portals.SYSTEM.site.url')
  })

  test('GET: a client that disconnects also ends the request at the server', async () => {
    const aborted = new AbortController()
    const { body } = await fetch(`http://localhost:${new URL(portico.url).port}/hangs`, { signal: aborted.signal })
    const closed = once(bundler.received.at(-1)?.socket ?? expect.fail(), 'close')
    aborted.abort()
    await closed
    await expect(body?.cancel()).rejects.toThrow()
  })

  test('WebSocket: relayed in both directions, without credentials', async () => {
    const socket = await openSocket(`http://localhost:${new URL(portico.url).port}`, '/?token=hmr')
    const reply = new Promise((resolve) => socket.addEventListener('message', ({ data }) => resolve(data)))
    socket.send('update')
    expect([await reply, socket.protocol, bundler.received.at(-1)?.url]).toEqual(['update', 'vite-hmr', '/?token=hmr'])
    socket.close()
    await expect.poll(() => bundler.sockets.size).toBe(0)
  })

  test('WebSocket: refused below the chains, under another host, and without a server', async () => {
    const { port } = new URL(portico.url)
    for (const url of [`http://localhost:${port}/web/v1/consumer/x`, `http://127.0.0.1:${port}/`])
      await expect(openSocket(url, '')).rejects.toThrow()
    await expect(openSocket(`http://ops.localhost:${port}`, '/')).rejects.toThrow()
    expect((await get('/')).status).toBe(200)
  })

  test('GET 404 ROUTE.NOT_FOUND: a page that rebinds its name to this machine cannot read the sources', async () => {
    const other = await startPortico({
      adjust: (settings) => {
        settings.publicUrl = 'http://portal.test:8080'
        settings.portals.CONSUMER.site = { url: bundler.url }
      },
    })
    for (const host of ['127.0.0.1:8080', 'localhost:8080', '[::1]', 'portal.test:8080'])
      expect([host, (await load(other.url, '/', { host })).status]).toEqual([host, 200])
    expect((await load(other.url, '/', { host: 'evil.example:8080' })).status).toBe(404)
    await other.stop()
  })

  test('stop: open WebSockets are closed', async () => {
    const other = await startPortico({
      adjust: ({ portals }) => {
        portals.CONSUMER.site = { url: bundler.url }
      },
    })
    const socket = await openSocket(other.url, '/')
    const closed = once(socket, 'close')
    await other.stop()
    await closed
    await expect.poll(() => bundler.sockets.size).toBe(0)
  })
})
