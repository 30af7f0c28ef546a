import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { own } from '../../src/contract/policies.ts'
import { upstreamAt } from '../harness/settings.ts'
import { type PassThroughWorld, paths, startPassThroughWorld } from './pass-through-world.ts'

const timezones = '/web/v1/consumer/constants/timezones'
const profile = '/web/v1/consumer/profile/update'
const connections = 4
/** Of one caller. */
const maxRunning = 3

let world: PassThroughWorld
beforeAll(async () => {
  world = await startPassThroughWorld((settings, url) => {
    const breaker = { failures: 3, openMs: 60_000 }
    const place = { timeoutMs: 20_000, streamTimeoutMs: 20_000, connections, queue: 400, breaker }
    settings.backends.constants = upstreamAt(`${url}/base`, place)
    settings.backends.profile = upstreamAt(`${url}/base`, { ...place, audience: 'profile' })
    settings.backends.feed = upstreamAt(`${url}/base`, { ...place, audience: 'feed', connections: 64 })
    settings.passThrough = [
      {
        ...upstreamAt(`${url}/app`, { ...place, audience: 'legacy', connections: 64 }),
        prefix: paths.legacy,
        methods: ['GET', 'POST'],
        policy: own,
        requestHeaders: [],
        responseHeaders: [],
      },
    ]
  })
})
afterAll(() => world?.stop())

/** Requests whose connection was closed before they had a response. */
let aborted: IncomingMessage[] = []
let held: ServerResponse[] = []
function hold(respond: (response: ServerResponse) => void = () => undefined) {
  world.service.respond((request, response) => {
    request.resume()
    held.push(response)
    response.on('close', () => {
      if (!response.writableFinished) aborted.push(request)
    })
    respond(response)
  })
}
beforeEach(() => {
  aborted = []
  held = []
})

function begin(line: string, id: string = randomUUID(), body = '', length = body.length): Socket {
  const { hostname, port } = new URL(world.portico.urls[0] ?? '')
  const socket = connect({ host: hostname, port: Number(port) }).on('error', () => undefined)
  const content = body === '' ? {} : { 'content-type': 'application/json', 'content-length': String(length) }
  const headers = { ...world.headers(), host: 'x', 'x-request-id': id, ...content }
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`${line} HTTP/1.1\r\n${head.join('')}\r\n${body}`)
  return socket
}
function lineOf(id: string) {
  return world.portico.log.find(({ requestId }) => requestId === id)
}
async function readMetric(metric: string, label: string): Promise<number> {
  const line = (await world.metric(metric)).find((each) => each.includes(label))
  return Number(line?.split(' ').at(-1) ?? 0)
}

const reads: [string, string, string][] = [
  ['constants.timezones', `GET ${timezones}`, 'a JSON reply'],
  ['feed.report', `GET ${paths.report}`, 'a raw reply'],
  ['passThrough.legacy', `GET ${paths.legacy}/x`, 'a page below a prefix'],
  ['passThrough.legacy', `HEAD ${paths.legacy}/x`, 'HEAD below a prefix'],
  ['feed.news', `GET ${paths.news}`, 'an event stream'],
]

describe('a client that disconnects before the response', () => {
  test.each(reads)('%s: ends the request to the service, and is logged as abandoned: %s', async (operation, line) => {
    hold()
    const id = randomUUID()
    const before = await readMetric('portico_requests_abandoned_total', `operation="${operation}"`)
    const socket = begin(line, id)
    await expect.poll(() => held.length).toBe(1)
    socket.destroy()
    await expect.poll(() => aborted.length).toBe(1)
    await expect.poll(() => lineOf(id)).toMatchObject({ msg: 'request abandoned', level: 'info', abandoned: true })
    expect(lineOf(id)).not.toHaveProperty('status')
    const explained = await (await fetch(`${world.portico.operationsUrl}/explain/${id}`)).json()
    expect(explained).toMatchObject([{ status: null, operation, internal: 'client disconnected' }])
    expect(explained[0].stages.find(({ stage }: { stage: string }) => stage === 'serve').verdict).toBe('abandoned')
    expect(await readMetric('portico_requests_abandoned_total', `operation="${operation}"`)).toBe(before + 1)
    expect(await readMetric('portico_upstream_requests_in_flight', world.service.url)).toBe(0)
  })

  test.each(['destroy', 'end'] as const)(
    'profile.update: abandoned by a client that leaves in its body: %s',
    async (leave) => {
      const id = randomUUID()
      const socket = begin(`POST ${profile}`, id, '{"accountName":', 100)
      await pause(300)
      socket[leave]()
      await expect.poll(() => lineOf(id)).toMatchObject({ abandoned: true })
      expect(lineOf(id)).not.toHaveProperty('status')
    },
  )

  test('constants.timezones: ends a reply whose body is incomplete', async () => {
    hold((response) => response.writeHead(200, { 'content-type': 'application/json' }).write('['))
    const socket = begin(`GET ${timezones}`)
    await expect.poll(() => held.length).toBe(1)
    await pause(50)
    socket.destroy()
    await expect.poll(() => aborted.length).toBe(1)
  })

  test.each([
    ['profile.update', `POST ${profile}`, '{"accountName":"New name"}'],
    ['passThrough.legacy', `POST ${paths.legacy}/x`, '{}'],
  ])('%s: a command that was sent runs on, and is logged as abandoned', async (_operation, line, body) => {
    hold()
    const id = randomUUID()
    const socket = begin(line, id, body)
    await expect.poll(() => held.length).toBe(1)
    socket.destroy()
    await once(socket, 'close')
    await pause(200)
    expect(aborted).toEqual([])
    held[0]?.writeHead(400, { 'content-type': 'application/json' })
    held[0]?.end(JSON.stringify({ success: false, code: 'VALIDATION.INVALID_PARAMETER', message: '', data: null }))
    await expect.poll(() => lineOf(id)).toMatchObject({ abandoned: true })
    expect(lineOf(id)).not.toHaveProperty('status')
  })

  test.each(reads.slice(1, 4))(
    '%s 200: eight aborted reloads leave the slots free for %s',
    async (_operation, line) => {
      hold()
      const reloads = Array.from({ length: world.portico.settings.requests.maxTransfersPerAccount }, () => begin(line))
      await expect.poll(() => held.length).toBe(reloads.length)
      for (const each of reloads) each.destroy()
      await expect.poll(() => aborted.length).toBe(reloads.length)
      world.service.respond((_request, response) => void response.end('another page'))
      const response = await world.open(`${paths.legacy}/y`)
      expect([response.status, await response.text()]).toEqual([200, 'another page'])
    },
  )

  test.each([
    ['constants.timezones', `GET ${timezones}`, ''],
    ['profile.update', `POST ${profile}`, '{"accountName":"New name"}'],
  ])('%s: a request that waits for a connection is never sent', async (_operation, line, body) => {
    hold()
    const running = Array.from({ length: maxRunning }, () => begin(line, randomUUID(), body))
    await expect.poll(() => held.length).toBe(maxRunning)
    const id = randomUUID()
    const waiting = begin(line, id, body)
    await pause(100)
    waiting.destroy()
    await expect.poll(() => lineOf(id)).toMatchObject({ abandoned: true })
    const conflict = JSON.stringify({ success: false, code: 'VALIDATION.INVALID_PARAMETER', message: '', data: null })
    for (const response of held) response.writeHead(400, { 'content-type': 'application/json' }).end(conflict)
    await Promise.all(running.map((socket) => once(socket, 'data')))
    expect(world.service.requests).toHaveLength(maxRunning)
    for (const socket of running) socket.destroy()
  })

  test('constants.timezones 200: 300 aborted requests end, and the circuit stays closed', async () => {
    hold()
    const ids = Array.from({ length: 300 }, () => randomUUID())
    const sockets = ids.map((id) => begin(`GET ${timezones}`, id))
    await expect.poll(() => held.length).toBe(maxRunning)
    await pause(300)
    for (const socket of sockets) socket.destroy()
    const isAbandoned = (id: string) => lineOf(id)?.abandoned === true
    await expect.poll(() => ids.filter(isAbandoned).length, { timeout: 10_000 }).toBe(300)
    await expect.poll(() => aborted.length).toBe(held.length)
    expect(held.length).toBeLessThan(50)
    const timezone = { code: 'UTC', label: 'UTC', zoneIdCode: 'Etc/UTC', utcOffset: 'UTC+0', value: 1 }
    world.service.respond((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify([timezone]))
    })
    expect((await world.open(timezones)).status).toBe(200)
    expect(await readMetric('portico_upstream_breaker_opened_total', world.service.url)).toBe(0)
  })
})
