import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { anonymous } from '../../src/contract/policies.ts'
import { upstreamAt } from '../harness/settings.ts'
import { type PassThroughWorld, startPassThroughWorld } from './pass-through-world.ts'

const open = '/web/v1/consumer/open'
const timezones = '/web/v1/consumer/constants/timezones'
const [member, bystander, stranger] = ['203.0.113.50', '198.51.100.1', '192.0.2.77']
const limits = { connections: 8, concurrency: 8, queue: 16, breaker: { failures: 5, openMs: 1_000 } }

let world: PassThroughWorld
beforeAll(async () => {
  world = await startPassThroughWorld((settings, url) => {
    const place = { ...limits, timeoutMs: 2_000, streamTimeoutMs: 2_000 }
    settings.backends.constants = upstreamAt(`${url}/base`, place)
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
  world.portico.expectFault(() => true)
})
afterAll(() => world?.stop())

async function get(path: string, address: string): Promise<number> {
  const headers = { authorization: null, 'x-workspace-id': null, 'cf-connecting-ip': address }
  const response = await world.open(path, headers)
  await response.body?.cancel()
  return response.status
}

const timezone = { code: 'UTC', label: 'UTC', zoneIdCode: 'Etc/UTC', utcOffset: 'UTC+0', value: 1 }
function reply(response: ServerResponse) {
  return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify([timezone]))
}

describe('one anonymous caller and its bystanders', () => {
  test.each([timezones, `${open}/page`])(
    '%s 200 for a bystander while one address waits for 60 replies',
    async (path) => {
      world.service.respond((request, response) => {
        if (request.headers['x-client-ip'] !== member) reply(response)
      })
      const before = world.service.requests.length
      const flood = Array.from({ length: 60 }, () => get(path, member))
      await expect.poll(() => world.service.requests.length - before).toBeGreaterThanOrEqual(6)
      for (let times = 0; times < 5; times++) expect(await get(path, bystander)).toBe(200)
      expect(new Set(await Promise.all(flood))).toEqual(new Set([503, 504]))
    },
  )

  test('passThrough.open 200 for bystanders, however many networks of one /48 fail', async () => {
    world.service.respond((request, response) => {
      if (String(request.headers['x-client-ip']).startsWith('2001:db8:1:')) response.destroy()
      else reply(response)
    })
    for (const address of [bystander, stranger]) expect(await get(`${open}/page`, address)).toBe(200)
    for (let round = 0; round < 3; round++) {
      for (let network = 1; network <= 6; network++)
        expect(await get(`${open}/bad`, `2001:db8:1:${network}00::1`)).toBeGreaterThanOrEqual(502)
      for (const address of [bystander, stranger]) expect(await get(`${open}/page`, address)).toBe(200)
    }
  })
})
