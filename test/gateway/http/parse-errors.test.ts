import { once } from 'node:events'
import type { Server } from 'node:http'
import { connect } from 'node:net'
import express from 'express'
import { afterEach, expect, test } from 'vitest'
import type { Configuration } from '../../../src/config/index.ts'
import { createHttpServer, type ParseError } from '../../../src/gateway/index.ts'
import { sendRaw } from '../../harness/raw.ts'
import { testSettings } from '../../harness/settings.ts'

let server: Server
let url = ''
let isDraining = false
let served = 0
let reported: ParseError[] = []

/** The app responds once the body is complete. */
async function listen({
  maxHeaders = 100,
  ...settings
}: Partial<Configuration['requests']> & { maxHeaders?: number } = {}): Promise<void> {
  const app = express()
  app.use((request, response) => {
    served += 1
    request.on('end', () => response.end('served')).resume()
  })
  server = createHttpServer({
    upgrades: null,
    app,
    isTuned: true,
    maxHeaders,
    settings: { ...testSettings({}).requests, ...settings },
    isDraining: () => isDraining,
    onParseError: (malformed) => reported.push(malformed),
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
}
afterEach(() => {
  isDraining = false
  served = 0
  reported = []
  server.closeAllConnections()
  server.close()
})

const host = 'Host: portico.test\r\n'
function get(fields = host) {
  return `GET / HTTP/1.1\r\n${fields}\r\n`
}
function post(fields: string, body = '') {
  return `POST / HTTP/1.1\r\n${host}${fields}\r\n${body}`
}

test('431 above the maximum number of headers', async () => {
  await listen({ maxHeaders: 20 })
  const fields = (count: number) => host + 'a: b\r\n'.repeat(count - 1)
  expect((await sendRaw(url, get(fields(20)))).status).toBe(200)
  expect((await sendRaw(url, get(fields(21)))).status).toBe(431)
})

test('keep-alive is longer than that of edges, so that no connection closes during a command', async () => {
  await listen()
  const { text } = await sendRaw(url, get())
  expect(Number(/^keep-alive: timeout=(\d+)/im.exec(text)?.[1])).toBeGreaterThan(60)
})

test('400 for a second Host after 1,500 other headers', async () => {
  await listen({ maxHeaders: 3_000 })
  const many = host + 'a:b\r\n'.repeat(1_500)
  expect((await sendRaw(url, get(many))).status).toBe(200)
  expect((await sendRaw(url, get(many + host))).status).toBe(400)
})

test('Transfer-Encoding is case-insensitive; 400 for two codings, an additional length, or 16 digits', async () => {
  await listen()
  const chunk = '2\r\n{}\r\n0\r\n\r\n'
  expect((await sendRaw(url, post('Transfer-Encoding: Chunked\r\n', chunk))).status).toBe(200)
  for (const fields of [
    'Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n',
    'Transfer-Encoding: chunked\r\nContent-Length: 2\r\n',
    'Content-Length: 1000000000000000\r\n',
  ])
    expect([fields, (await sendRaw(url, post(fields, chunk))).status]).toEqual([fields, 400])
})

test.each([
  ['HTTP/1.0 without a Host', get('').replace('HTTP/1.1', 'HTTP/1.0'), 200],
  ['HTTP/1.0 with an invalid Host', get('Host: a b\r\n').replace('HTTP/1.1', 'HTTP/1.0'), 400],
  ['a port with five digits', get('Host: portico.test:65535\r\n'), 200],
  ['a port with six digits', get('Host: portico.test:655350\r\n'), 400],
])('the response to %s depends on its Host', async (_name, bytes, status) => {
  await listen()
  expect((await sendRaw(url, bytes)).status).toBe(status)
})

test.each(['GET http://portico.test/ HTTP/1.1', 'OPTIONS * HTTP/1.1'])(
  '400 for %s: only a path is served',
  async (line) => {
    await listen()
    expect((await sendRaw(url, get().replace('GET / HTTP/1.1', line))).status).toBe(400)
  },
)

test.each([
  ['400', post('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n')],
  ['400', get(host + host)],
  ['417', post('Expect: a-dance\r\nContent-Length: 2\r\n', '{}')],
])('%s closes the connection: nothing after a rejected request is served', async (status, refused) => {
  await listen()
  const reply = await sendRaw(url, refused + get())
  expect([String(reply.status), reply.responses, reply.closed]).toEqual([status, 1, true])
  expect(served).toBe(0)
  expect(reply.text).toMatch(/^cache-control: no-store\r$/im)
  expect(reply.text).toMatch(/^x-content-type-options: nosniff\r$/im)
})

test('a draining server sends Connection: close', async () => {
  await listen()
  expect(await sendRaw(url, get() + get())).toMatchObject({ status: 200, responses: 2 })
  isDraining = true
  const reply = await sendRaw(url, get() + get())
  expect([reply.status, reply.responses, reply.closed]).toEqual([200, 1, true])
  expect(served).toBe(3)
  expect(reply.text).toMatch(/^connection: close\r$/im)
})

test('408 for a body that exceeds the time of a whole request', async () => {
  await listen({ headersTimeoutMs: 500, uploadTimeoutMs: 500 })
  const reply = await sendRaw(url, post('Content-Length: 2\r\n', '{'), 5_000)
  expect([reply.status, reply.closed]).toEqual([408, true])
})

test.each([
  [400, 'HPE_INVALID_HEADER_TOKEN', get(`${host}X-Nul: a\0b\r\n`)],
  [400, 'HPE_INVALID_CHUNK_SIZE', post('Transfer-Encoding: chunked\r\n', 'z\r\n')],
  [431, 'HPE_HEADER_OVERFLOW', get(`${host}X-Long: ${'a'.repeat(17 * 1024)}\r\n`)],
  [413, 'HPE_CHUNK_EXTENSIONS_OVERFLOW', post('Transfer-Encoding: chunked\r\n', `2;${'a'.repeat(17 * 1024)}\r\n`)],
  [408, 'ERR_HTTP_REQUEST_TIMEOUT', `GET / HTTP/1.1\r\n${host}`],
  [400, 'Host', get('')],
  [400, 'two Hosts', get(host + host)],
  [400, 'Transfer-Encoding', post('Transfer-Encoding: gzip, chunked\r\n')],
  [400, 'HPE_INVALID_CONTENT_LENGTH', post('Transfer-Encoding: chunked\r\nContent-Length: 2\r\n')],
  [400, 'Content-Length', post('Content-Length: 1000000000000000\r\n')],
  [400, 'request target', get().replace('GET /', 'GET http://portico.test/')],
  [505, 'HTTP version', get().replace('HTTP/1.1', 'HTTP/2.0')],
  [405, 'CONNECT', 'CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n'],
  [417, 'Expect', post('Expect: a-dance\r\nContent-Length: 2\r\n', '{}')],
])('%d for %s has the minimal headers and is reported once, with the peer', async (status, reason, bytes) => {
  await listen(status === 408 ? { headersTimeoutMs: 500, uploadTimeoutMs: 500 } : {})
  const reply = await sendRaw(url, bytes, 2_500)
  expect(reply.status).toBe(status)
  expect(reply.text).toMatch(/^cache-control: no-store\r$/im)
  expect(reply.text).toMatch(/^x-content-type-options: nosniff\r$/im)
  expect(reported).toEqual([{ status, reason, peer: '127.0.0.1' }])
})

test('served requests and reset connections are not reported as parse errors', async () => {
  await listen()
  expect((await sendRaw(url, get())).status).toBe(200)
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname, () => socket.write(post('Content-Length: 2\r\n', '{')))
  await once(server, 'request')
  socket.resetAndDestroy()
  const connections = () => new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)))
  await expect.poll(connections).toBe(0)
  expect(reported).toEqual([])
})
