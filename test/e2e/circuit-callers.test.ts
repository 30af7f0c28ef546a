import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { anonymous } from '../../src/contract/policies.ts'
import { upstreamAt } from '../harness/settings.ts'
import { type PassThroughWorld, paths, startPassThroughWorld } from './pass-through-world.ts'

const open = '/web/v1/consumer/open'
const timezones = '/web/v1/consumer/constants/timezones'
/** Long, so that only a skip reaches them. */
const [openMs, timeoutMs, windowMs] = [60_000, 60_000, 10_000]

/** The member clicks, and the bystander uses the same service. */
const [member, bystander, stranger] = ['203.0.113.50', '198.51.100.1', '192.0.2.77']

let world: PassThroughWorld
beforeAll(async () => {
  world = await startPassThroughWorld((settings, url) => {
    const place = { timeoutMs, streamTimeoutMs: timeoutMs, breaker: { failures: 5, openMs } }
    settings.backends.constants = upstreamAt(`${url}/base`, place)
    settings.backends.feed = upstreamAt(`${url}/base`, { ...place, audience: 'feed' })
    settings.passThrough = [
      {
        ...upstreamAt(`${url}/open`, { ...place, audience: 'open' }),
        prefix: open,
        methods: ['GET', 'POST'],
        policy: anonymous,
        requestHeaders: [],
        responseHeaders: [],
      },
    ]
  })
  world.portico.expectFault(({ operation }) => operation === 'constants.timezones')
})
afterAll(() => world?.stop())

function get(path: string, address: string, extra: Record<string, string> = {}) {
  return world.open(path, { authorization: null, 'x-workspace-id': null, 'cf-connecting-ip': address, ...extra })
}

const timezone = { code: 'UTC', label: 'UTC', zoneIdCode: 'Etc/UTC', utcOffset: 'UTC+0', value: 1 }
const replies = {
  [timezones]: (response: ServerResponse) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify([timezone])),
  [`${open}/page`]: (response: ServerResponse) => response.end('a page'),
  [paths.news]: (response: ServerResponse) =>
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: 1\n\n'),
}

async function states(): Promise<string[]> {
  const lines = await world.metric('portico_upstream_breaker_state')
  return lines.map((line) => line.split(' ').at(-1) ?? '')
}

describe.each(Object.entries(replies))('%s', (path, reply) => {
  test.each<[string, number, Record<string, string>]>([
    ['401', 401, { 'www-authenticate': 'Basic' }],
    ['a redirect to a single sign-on', 302, { location: 'https://sso.example/' }],
    ['500', 500, { 'content-type': 'text/html' }],
    ['an encoding', 200, { 'content-encoding': 'gzip' }],
  ])('200 for bystanders after pages with %s, each of which is requested once', async (_name, status, headers) => {
    world.service.respond((_request, response) => void response.writeHead(status, headers).end('x'))
    for (const address of [member, bystander, stranger])
      for (let clicks = 1; clicks <= 5; clicks++) expect((await get(path, address)).status).toBe(502)
    expect(world.service.requests).toHaveLength(15)
    world.service.respond((_request, response) => void reply(response))
    expect((await get(path, bystander)).status).toBe(200)
  })

  test.each<[string, (response: ServerResponse) => void]>([
    ['503', (response) => void response.writeHead(503).end()],
    ['no reply', (response) => void response.destroy()],
  ])('200 for bystanders, however often one caller gets %s', async (_name, fail) => {
    world.service.respond((request, response) =>
      request.headers['x-client-ip'] === member ? fail(response) : void reply(response),
    )
    for (let clicks = 1; clicks <= 20; clicks++) {
      expect((await get(path, member)).status).toBeGreaterThanOrEqual(502)
      expect((await get(path, bystander)).status).toBe(200)
    }
  })

  test('200 for bystanders while a page is too slow for one caller', async () => {
    world.service.respond((request, response) => {
      if (request.headers['x-client-ip'] !== member) reply(response)
    })
    const pending = Array.from({ length: 6 }, () => get(path, member))
    await expect.poll(() => world.service.requests.length).toBe(6)
    world.durations.skip(timeoutMs)
    const clicks = await Promise.all(pending)
    expect(new Set(clicks.map(({ status }) => status))).toEqual(new Set([504]))
    expect((await get(path, bystander)).status).toBe(200)
    expect(await states()).not.toContain('2')
  })

  test('503 once two callers cannot reach the service; 200 again when it works', async () => {
    world.service.respond((_request, response) => void response.destroy())
    // The replies of the other tests leave the window first.
    const fail = async () => [(await get(path, member)).status, (await get(path, bystander)).status]
    world.durations.skip(windowMs)
    await expect.poll(fail).toContain(503)
    const attempts = world.service.requests.length
    const id = randomUUID()
    const refused = await get(path, stranger, { 'x-request-id': id })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^(5\d|60)$/)])
    expect(world.service.requests).toHaveLength(attempts)
    expect(await states()).toContain('2')
    const internal = 'the circuit of the upstream is open'
    const explained = await (await fetch(`${world.portico.operationsUrl}/explain/${id}`)).json()
    expect(explained).toMatchObject([{ status: 503, code: 'SYSTEM.UNAVAILABLE', internal }])
    expect(world.portico.log.findLast(({ msg }) => msg === 'circuit opened')).toMatchObject({
      level: 'warn',
      upstream: expect.stringContaining(world.service.url),
      failures: expect.any(Number),
      callers: expect.any(Number),
    })
    world.service.respond((_request, response) => void reply(response))
    world.durations.skip(openMs)
    expect((await get(path, stranger)).status).toBe(200)
    expect((await get(path, member)).status).toBe(200)
    expect(world.portico.log.findLast(({ msg }) => msg === 'circuit closed')).toMatchObject({ level: 'info' })
  })
})
