import type { ServerResponse } from 'node:http'
import { afterEach, describe, expect, expectTypeOf, test, vi } from 'vitest'
import {
  type ClientOptions,
  createClient,
  type PorticoError,
  type ServerEvent,
  serverEvents,
} from '../../../src/client/index.ts'
import { member } from '../../../src/contract/policies.ts'
import { operation } from '../../../src/kernel/index.ts'
import { pair, walletId } from '../fixtures.ts'
import { hangUp, ok, refuse, type ScriptedGateway, type Step, scriptedGateway } from '../scripted-gateway.ts'

const path = '/web/v1/consumer/feed'
const feed = {
  watchFeed: operation({
    id: 'feed.watch',
    method: 'GET',
    path: '/feed',
    chains: ['consumer'],
    summary: 'Watch the feed',
    policy: { ...member, channel: 'none', workspace: 'required', permission: null },
    body: 'none',
    reply: 'events',
    refuses: [],
  }),
}

let gateway: ScriptedGateway
afterEach(() => gateway.close())

/** Sends the parts, each for itself, and then ends the response, or destroys the connection. */
function stream(parts: readonly (string | Uint8Array)[], end: 'end' | 'destroy' | 'open' = 'end'): Step {
  return async (_, response) => {
    opened.push(response)
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'x-request-id': 'the-id' })
    response.flushHeaders()
    for (const part of parts) {
      response.write(part)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    if (end !== 'open') response[end]()
  }
}
let opened: ServerResponse[] = []

const quick = 'retry: 1\n'
const refresh = 'POST /web/v1/consumer/auth/token/refresh'

async function start(
  steps: Step[],
  more: Record<string, Step | Step[]> = {},
  options: Partial<ClientOptions<'CONSUMER'>> = {},
) {
  opened = []
  gateway = await scriptedGateway({ [`GET ${path}`]: steps, ...more })
  const common = { baseUrl: gateway.baseUrl, portal: 'CONSUMER', accessCode: 'consumer-dev', seal: 'none' } as const
  const client = createClient({ ...common, ...options, contract: [feed] })
  await client.session.adopt(pair('1'))
  return client
}
const lastIds = () => gateway.to('/feed').map(({ headers }) => headers['last-event-id'])

/** Reads until `count` events have arrived. */
async function take(stream: AsyncIterable<ServerEvent>, count: number): Promise<string[]> {
  const found: string[] = []
  for await (const { data } of stream) {
    found.push(data)
    if (found.length === count) break
  }
  return found
}
async function failureOf(stream: AsyncIterable<ServerEvent>): Promise<[data: string[], error: PorticoError]> {
  const found: string[] = []
  try {
    for await (const { data } of stream) found.push(data)
  } catch (error) {
    return [found, error as PorticoError]
  }
  throw new Error('the stream has ended')
}
const unchanged = { workspaceId: walletId }

describe('serverEvents', () => {
  test('yields the events of one connection after the other, and continues after the last id', async () => {
    const client = await start([
      stream([`${quick}id: 1\ndata: a\n\nid: 2\ndata: lost`]),
      stream(['id: 2\ndata: b\n\n'], 'destroy'),
      stream(['data: c\n\n']),
      stream(['id\ndata: d\n\n']),
      stream(['data: e\n\n'], 'open'),
    ])
    expect(await take(serverEvents(client.watchFeed, unchanged), 5)).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(lastIds()).toEqual([undefined, '1', '2', '2', undefined])
    expect(gateway.seen.every(({ headers }) => headers['x-workspace-id'] === walletId)).toBe(true)
    expect(new Set(gateway.seen.map(({ headers }) => headers['x-request-id'])).size).toBe(5)
  })

  test('begins after the id of the caller', async () => {
    const client = await start([stream([`${quick}id: 9\ndata: a\n\n`]), stream(['data: b\n\n'], 'open')])
    const headers = { 'Last-Event-ID': '8', 'X-Other': 'kept' }
    expect(await take(serverEvents(client.watchFeed, { ...unchanged, headers }), 2)).toEqual(['a', 'b'])
    expect(lastIds()).toEqual(['8', '9'])
    expect(gateway.seen.map((seen) => seen.headers['x-other'])).toEqual(['kept', 'kept'])
  })

  test('reads text that is divided within a character, a line end and a byte order mark', async () => {
    const bytes = new TextEncoder().encode('\u{feff}data: 送金\r\n\r\n')
    const client = await start([
      stream(
        [...bytes].map((byte) => Uint8Array.of(byte)),
        'open',
      ),
    ])
    expect(await take(serverEvents(client.watchFeed, unchanged), 1)).toEqual(['送金'])
  })

  test('has the id, the type and the data of an event', async () => {
    const client = await start([stream(['id: 1\nevent: arrived\ndata: {}\n\n'], 'open')])
    const received = serverEvents(client.watchFeed, unchanged)
    expectTypeOf(received).toEqualTypeOf<AsyncGenerator<ServerEvent, void, undefined>>()
    expect(await received.next()).toEqual({ done: false, value: { id: '1', event: 'arrived', data: '{}' } })
    await received.return()
    // @ts-expect-error: the operation needs a workspace
    serverEvents(client.watchFeed)
    // @ts-expect-error: not a stream
    serverEvents(client.listWallets)
  })

  test.each([
    ['break', (received: AsyncGenerator<ServerEvent>) => take(received, 1)],
    [
      'return',
      async (received: AsyncGenerator<ServerEvent>) => void [await received.next(), await received.return(undefined)],
    ],
    [
      'an error in the loop',
      async (received: AsyncGenerator<ServerEvent>) => {
        const reading = async () => {
          for await (const _ of received) throw new Error('mine')
        }
        await expect(reading()).rejects.toThrow('mine')
      },
    ],
  ])('%s closes the connection', async (_, stop) => {
    const client = await start([stream(['data: a\n\n'], 'open')])
    await stop(serverEvents(client.watchFeed, unchanged))
    await vi.waitFor(() => expect(opened.map((response) => response.closed)).toEqual([true]))
    expect(gateway.seen).toHaveLength(1)
  })

  test('opens no connection before the first event is requested', async () => {
    const client = await start([stream(['data: a\n\n'], 'open')])
    await serverEvents(client.watchFeed, unchanged).return()
    expect(gateway.seen).toEqual([])
  })

  test.each([
    ['while it waits for an event', [stream(['data: a\n\n'], 'open')]],
    ['before a reconnection', [stream(['retry: 600000\ndata: a\n\n'])]],
    ['while a reconnection has no response', [stream([`${quick}data: a\n\n`]), () => undefined]],
  ] satisfies [string, Step[]][])(
    'its signal ends it %s, with the reason, and closes the connection',
    async (_, steps) => {
      const client = await start(steps)
      const controller = new AbortController()
      setTimeout(() => controller.abort(new Error('enough')), 500)
      const [found, error] = await failureOf(
        serverEvents(client.watchFeed, { ...unchanged, signal: controller.signal }),
      )
      expect([found, error.message]).toEqual([['a'], 'enough'])
      await vi.waitFor(() => expect(opened.every((response) => response.closed)).toBe(true))
      expect(gateway.seen).toHaveLength(steps.length)
    },
  )

  test('continues after failures of the gateway, the network and a proxy', async () => {
    const client = await start([
      stream([`${quick}id: 1\ndata: a\n\n`]),
      hangUp,
      refuse(503, 'SYSTEM.UNAVAILABLE'),
      (_, response) => void response.writeHead(502, { 'content-type': 'text/html' }).end('<html>'),
      refuse(429, 'ACCESS.RATE_LIMITED'),
      stream(['data: b\n\n'], 'open'),
    ])
    expect(await take(serverEvents(client.watchFeed, unchanged), 2)).toEqual(['a', 'b'])
    expect(lastIds()).toEqual([undefined, '1', '1', '1', '1', '1'])
  })

  test('waits for Retry-After, and at least for `retry`', async () => {
    const client = await start([
      stream(['retry: 300\ndata: a\n\n']),
      refuse(503, 'SYSTEM.UNAVAILABLE', { 'retry-after': '1' }),
      stream(['data: b\n\n'], 'open'),
    ])
    const times: number[] = []
    const observed = async (args: typeof unchanged) => {
      times.push(performance.now())
      return client.watchFeed(args)
    }
    expect(await take(serverEvents(observed, unchanged), 2)).toEqual(['a', 'b'])
    const [first = 0, second = 0, third = 0] = times
    expect(second - first).toBeGreaterThanOrEqual(300)
    expect(third - second).toBeGreaterThanOrEqual(1_000)
  })

  test('waits longer after each failure in a row, and calls no service in a loop', async () => {
    const client = await start([stream(['retry: 0\ndata: a\n\n']), stream([]), stream([]), stream([])])
    const signal = AbortSignal.timeout(1_500)
    await failureOf(serverEvents(client.watchFeed, { ...unchanged, signal }))
    // At least 100, 200, 400 and 800 ms.
    expect(gateway.seen.length).toBeGreaterThan(2)
    expect(gateway.seen.length).toBeLessThan(6)
  })

  test('renews the token, and ends with the refusal at the end of the session', async () => {
    const expired = refuse(401, 'ACCESS.TOKEN_INVALID')
    const steps = [stream([`${quick}id: 1\ndata: a\n\n`]), expired, stream(['data: b\n\n']), expired]
    const onSignedOut = vi.fn()
    const client = await start(
      steps,
      { [refresh]: [ok(pair('2')), refuse(404, 'AUTH.SESSION_NOT_FOUND')] },
      { onSignedOut },
    )
    const [found, error] = await failureOf(serverEvents(client.watchFeed, unchanged))
    expect([found, error.code]).toEqual([['a', 'b'], 'ACCESS.TOKEN_INVALID'])
    expect(gateway.to('/feed').map(({ headers }) => headers.authorization)).toEqual(
      ['1', '1', '2', '2'].map((name) => `Bearer access-${name}`),
    )
    expect(onSignedOut).toHaveBeenCalledTimes(1)
  })

  test('ends with the refusal after a sign-out', async () => {
    const logout = { 'POST /web/v1/consumer/auth/logout': ok({ success: true, terminatedSessions: 1 }) }
    const client = await start([stream([`${quick}data: a\n\n`]), refuse(401, 'ACCESS.TOKEN_MISSING')], logout)
    const received = serverEvents(client.watchFeed, unchanged)
    await received.next()
    await client.signOut()
    await expect(received.next()).rejects.toMatchObject({ code: 'ACCESS.TOKEN_MISSING' })
    expect(gateway.to('/feed').map(({ headers }) => headers.authorization)).toEqual(['Bearer access-1', undefined])
  })

  test('ends with the refusal after the loss of a permission', async () => {
    const client = await start([stream([`${quick}data: a\n\n`]), refuse(403, 'ACCESS.PERMISSION_DENIED')])
    const [found, error] = await failureOf(serverEvents(client.watchFeed, unchanged))
    expect([found, error.code, error.status]).toEqual([['a'], 'ACCESS.PERMISSION_DENIED', 403])
    expect(gateway.seen).toHaveLength(2)
  })

  test('an event above the limit is CLIENT.INVALID_REPLY, and closes the connection', async () => {
    const client = await start([stream(['data: a\n\n', `data: ${'x'.repeat(1024 * 1024)}`], 'open')])
    const [found, error] = await failureOf(serverEvents(client.watchFeed, unchanged))
    expect([found, error.code, error.requestId]).toEqual([['a'], 'CLIENT.INVALID_REPLY', 'the-id'])
    await vi.waitFor(() => expect(opened.map((response) => response.closed)).toEqual([true]))
    expect(gateway.seen).toHaveLength(1)
  })

  test('a response that is not a stream is an error', async () => {
    const client = await start([ok([])])
    const [, error] = await failureOf(serverEvents(client.watchFeed, unchanged))
    expect(error.code).toBe('CLIENT.INVALID_REPLY')
    const file = async () => new Response('a', { headers: { 'content-type': 'text/plain' } })
    await expect(take(serverEvents(file), 1)).rejects.toThrow('the method has no event stream')
  })

  test('the method itself still returns the response with its unread body', async () => {
    const client = await start([stream(['data: a\n\n'])])
    expect(await (await client.watchFeed(unchanged)).text()).toBe('data: a\n\n')
  })
})
