import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { toInstant } from '../../../src/kernel/index.ts'
import { createWebhookSender, formatWebhookSecret } from '../../../src/platform/webhooks/index.ts'
import type { LookupAll, SenderPorts } from '../../../src/platform/webhooks/sender.ts'
import { selfSigned } from '../../harness/certificate.ts'
import { createMovableDurations } from '../../harness/durations.ts'

const folder = mkdtempSync(join(tmpdir(), 'portico-webhooks-'))
const [secret, previous] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)]
const message = { id: '0198c0de-0000-7000-8000-000000000001', body: '{"type":"transfer.completed"}', secrets: [secret] }
const durations = createMovableDurations()
const clock = { now: () => toInstant(Date.now()) }
const never = new AbortController().signal
const requests: {
  method: string | undefined
  url: string | undefined
  headers: IncomingMessage['headers']
  body: string
  port: number | undefined
}[] = []
const servers: Server[] = []
let answer: (request: IncomingMessage, response: ServerResponse) => void
let [port, tlsPort, ca] = [0, 0, '']

beforeAll(async () => {
  const listener: RequestListener = async (request, response) => {
    const { method, url, headers, socket } = request
    requests.push({ method, url, headers, body: await text(request), port: socket.remotePort })
    answer(request, response)
  }
  const { key, cert } = selfSigned(folder, 'DNS:receiver.test')
  ca = cert.toString()
  for (const server of [createServer(listener), createTlsServer({ key, cert }, listener)])
    servers.push(server.listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => server.listening || once(server, 'listening')))
  ;[port, tlsPort] = servers.map((server) => (server.address() as AddressInfo).port) as [number, number]
})
afterAll(() => {
  for (const server of servers) server.close()
  rmSync(folder, { recursive: true })
})

function sender(options: Partial<SenderPorts> = {}) {
  const rules = { allowLoopback: true, ownNames: [] }
  return createWebhookSender({ clock, durations, rules, ...options })
}

function deliver(url: string, options: Partial<SenderPorts> = {}, changes: Partial<typeof message> = {}) {
  requests.length = 0
  return sender(options).send({ ...message, ...changes, url }, never)
}

test('send: the official library verifies the signatures of both secrets while a rotation lasts', async () => {
  answer = (_request, response) => response.end('thanks')
  const url = `http://127.0.0.1:${port}/hooks?a=1`
  const reply = await deliver(url, {}, { secrets: [secret, previous] })
  expect(reply).toMatchObject({ status: 200, body: 'thanks', failure: null, retryAfter: null })
  const [request] = requests
  expect(request).toMatchObject({ method: 'POST', url: '/hooks?a=1', body: message.body })
  const headers = Object.fromEntries(
    Object.entries(request?.headers ?? {}).map(([name, value]) => [name, String(value)]),
  )
  expect(headers['webhook-id']).toBe(message.id)
  expect(headers['content-type']).toBe('application/json')
  for (const each of [secret, previous])
    expect(new Webhook(formatWebhookSecret(each)).verify(message.body, headers)).toEqual(JSON.parse(message.body))
  const other = new Webhook(formatWebhookSecret(new Uint8Array(32).fill(3)))
  expect(() => other.verify(message.body, headers)).toThrow()
  expect(() => new Webhook(formatWebhookSecret(secret)).verify(`${message.body} `, headers)).toThrow()
})

test('send: uses a separate connection for each attempt', async () => {
  answer = (_request, response) => response.end()
  const ports = new Set<number | undefined>()
  for (let count = 0; count < 3; count++) {
    await deliver(`http://127.0.0.1:${port}/`)
    ports.add(requests[0]?.port)
  }
  expect(ports.size).toBe(3)
})

test('send: follows no redirect', async () => {
  answer = (_request, response) => response.writeHead(302, { location: `http://127.0.0.1:${port}/inside` }).end()
  expect(await deliver(`http://127.0.0.1:${port}/`)).toMatchObject({ status: 302, failure: null })
  expect(requests).toHaveLength(1)
})

test('send: shows 4 KiB of an endless response as text without NUL, and closes the connection', async () => {
  const closed = Promise.withResolvers<void>()
  answer = (_request, response) => {
    const write = () => response.write('\0<script>'.repeat(1_000)) && setImmediate(write)
    response.on('drain', write).on('close', closed.resolve)
    write()
  }
  const { status, body } = await deliver(`http://127.0.0.1:${port}/`)
  expect([status, body.length]).toEqual([200, 4_096])
  expect(body.startsWith('\ufffd<script>')).toBe(true)
  await closed.promise
})

test.each(['head', 'body'])('send TIMEOUT: a receiver that trickles its %s has 15 seconds', async (part) => {
  const answered = Promise.withResolvers<void>()
  answer = (_request, response) => {
    if (part === 'body') response.write('.')
    else response.writeProcessing()
    answered.resolve()
  }
  const sending = deliver(`http://127.0.0.1:${port}/`)
  await answered.promise
  durations.skip(14_000)
  durations.skip(1_100)
  expect(await sending).toMatchObject({ failure: 'TIMEOUT' })
})

test('send TIMEOUT: a name server that does not respond', async () => {
  const sending = deliver('https://receiver.test/', { lookupAll: () => new Promise(() => undefined) })
  durations.skip(15_100)
  expect(await sending).toMatchObject({ failure: 'TIMEOUT', status: null })
})

test('send ADDRESS_REFUSED: a name with any local address, before a connection', async () => {
  const rules = { allowLoopback: false, ownNames: [] }
  for (const address of ['127.0.0.1', '169.254.169.254', '::ffff:127.0.0.1', '64:ff9b::7f00:1']) {
    const family = address.includes(':') ? 6 : 4
    const lookupAll: LookupAll = async () => [
      { address: '8.8.8.8', family: 4 },
      { address, family },
    ]
    expect(await deliver(`https://receiver.test:${tlsPort}/`, { rules, lookupAll })).toMatchObject({
      failure: 'ADDRESS_REFUSED',
    })
  }
  for (const url of [`http://127.0.0.1:${port}/`, `https://2130706433:${tlsPort}/`, `https://localhost:${tlsPort}/`])
    expect(await deliver(url, { rules })).toMatchObject({ failure: 'ADDRESS_REFUSED' })
  expect(requests).toEqual([])
})

test('send: a name server that changes its answer is asked once per attempt, and then refused', async () => {
  answer = (_request, response) => response.end()
  let lookups = 0
  const lookupAll: LookupAll = async () => [{ address: lookups++ === 0 ? '127.0.0.1' : '10.0.0.1', family: 4 }]
  const attempt = () => deliver(`https://receiver.test:${tlsPort}/`, { lookupAll, ca })
  expect(await attempt()).toMatchObject({ status: 200 })
  expect(lookups).toBe(1)
  expect(await attempt()).toMatchObject({ failure: 'ADDRESS_REFUSED' })
})

test('send TLS: the certificate must name the host', async () => {
  const lookupAll: LookupAll = async () => [{ address: '127.0.0.1', family: 4 }]
  expect(await deliver(`https://other.test:${tlsPort}/`, { lookupAll, ca })).toMatchObject({ failure: 'TLS' })
  expect(await deliver(`https://receiver.test:${tlsPort}/`, { lookupAll })).toMatchObject({ failure: 'TLS' })
  expect(requests).toEqual([])
})

test('send CONNECTION: nothing listens, and a connection that breaks', async () => {
  answer = (request) => request.socket.destroy()
  expect(await deliver(`http://127.0.0.1:${port}/`)).toMatchObject({ failure: 'CONNECTION' })
  expect(await deliver('http://127.0.0.1:59999/')).toMatchObject({ failure: 'CONNECTION' })
  const lookupAll: LookupAll = async () => []
  expect(await deliver('https://receiver.test/', { lookupAll })).toMatchObject({ failure: 'NAME_NOT_FOUND' })
})

test('send: rejects once the process stops', async () => {
  const stopping = new AbortController()
  const answered = Promise.withResolvers<void>()
  answer = () => answered.resolve()
  const sending = sender().send({ ...message, url: `http://127.0.0.1:${port}/` }, stopping.signal)
  await answered.promise
  stopping.abort(new Error('stopping'))
  await expect(sending).rejects.toThrow('stopping')
})
