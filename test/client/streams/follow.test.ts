import type { ServerResponse } from 'node:http'
import { afterEach, describe, expect, expectTypeOf, test, vi } from 'vitest'
import { type ClientOptions, createApiClient, createClient, type ReceivedEvent } from '../../../src/client/index.ts'
import { pair, walletId } from '../fixtures.ts'
import { hangUp, ok, refuse, type ScriptedGateway, type Step, scriptedGateway } from '../scripted-gateway.ts'

const prefix = '/web/v1/consumer'
const listed = `GET ${prefix}/events`
const streamed = `GET ${prefix}/events/stream`

let gateway: ScriptedGateway
let opened: ServerResponse[] = []
afterEach(() => gateway.close())

const event = (position: number, type = 'transfer.completed') => ({
  specversion: '1.0' as const,
  id: `01933b6e-7c1a-7e0a-8f35-${String(position).padStart(12, '0')}`,
  source: 'https://portal.example',
  type,
  time: '2026-11-29T00:00:00.000Z',
  subject: walletId,
  datacontenttype: 'application/json' as const,
  workspacebizid: walletId,
  data: { position },
})

/** A page of the feed. `end` is the last position of the feed. */
function page(positions: readonly number[], nextCursor: number, end = nextCursor): Step {
  const events = positions.map((each) => event(each))
  return ok({ events, nextCursor: String(nextCursor), hasMore: nextCursor < end, latestCursor: String(end) })
}

/** Sends the events, and then ends the response, or leaves it open. */
function stream(positions: readonly number[], end: 'end' | 'destroy' | 'open' = 'open'): Step {
  return async (_, response) => {
    opened.push(response)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(': open\n\n')
    for (const each of positions)
      response.write(`id: ${each}\nevent: transfer.completed\ndata: ${JSON.stringify(event(each))}\n\n`)
    await new Promise((resolve) => setTimeout(resolve, 20))
    if (end !== 'open') response[end]()
  }
}

async function start(steps: Record<string, Step | Step[]>, options: Partial<ClientOptions<'CONSUMER'>> = {}) {
  opened = []
  gateway = await scriptedGateway(steps)
  const common = { baseUrl: gateway.baseUrl, portal: 'CONSUMER', accessCode: 'consumer-dev', seal: 'none' } as const
  const client = createClient({ ...common, ...options })
  await client.session.adopt(pair('1'))
  return client
}

async function take(
  received: AsyncIterable<ReceivedEvent>,
  count: number,
): Promise<[position: number, cursor: string][]> {
  const found: [number, string][] = []
  for await (const { event, cursor } of received) {
    found.push([Number(event.id.slice(-12)), cursor])
    if (found.length === count) break
  }
  return found
}
const workspaceId = walletId

describe('client.events', () => {
  test('reads the feed until it is current, and then the stream', async () => {
    const client = await start({ [listed]: [page([4, 5], 5, 8), page([8], 9)], [streamed]: [stream([10, 11])] })
    expect(await take(client.events({ workspaceId, after: '3' }), 5)).toEqual([
      [4, '3'],
      [5, '5'],
      [8, '9'],
      [10, '10'],
      [11, '11'],
    ])
    expect(gateway.seen.map(({ path }) => path.slice(prefix.length))).toEqual([
      '/events?after=3',
      '/events?after=5',
      '/events/stream',
    ])
    expect(gateway.to('/stream').map(({ headers }) => headers['last-event-id'])).toEqual(['9'])
    expect(gateway.seen.every(({ headers }) => headers['x-workspace-id'] === workspaceId)).toBe(true)
  })

  test('without `after` begins with the oldest event: each cursor is one to continue behind', async () => {
    const client = await start({ [listed]: [page([2], 2, 4), page([3, 4], 4)], [streamed]: [stream([])] })
    expect(await take(client.events({ workspaceId }), 3)).toEqual([
      [2, '2'],
      [3, '2'],
      [4, '4'],
    ])
    expect(gateway.seen.slice(0, 2).map(({ path }) => path)).toEqual([
      `${prefix}/events?limit=1`,
      `${prefix}/events?after=2`,
    ])
  })

  test('`latest` skips what is stored', async () => {
    const client = await start({ [listed]: [page([2], 2, 40)], [streamed]: [stream([41])] })
    expect(await take(client.events({ workspaceId, after: 'latest' }), 1)).toEqual([[41, '41']])
    expect(gateway.to('/stream')[0]?.headers['last-event-id']).toBe('40')
  })

  test('filters by type, and narrows the data by it', async () => {
    const types = ['transfer.completed', 'transfer.failed'] as const
    const client = await start({ [listed]: [page([1], 1)], [streamed]: [stream([2])] })
    const received = client.events({ workspaceId, after: '0', types })
    expectTypeOf(received).toEqualTypeOf<
      AsyncGenerator<ReceivedEvent<'transfer.completed' | 'transfer.failed'>, void, undefined>
    >()
    expect(await take(received, 2)).toHaveLength(2)
    const filter = 'type=transfer.completed%2Ctransfer.failed'
    expect(gateway.seen.map(({ path }) => path.split('?')[1])).toEqual([`${filter}&after=0`, filter])
    const statusOf = ({ event }: ReceivedEvent) =>
      event.type === 'transfer.completed' ? event.data.transferStatus.code : null
    expectTypeOf(statusOf).returns.toExtend<string | null>()
    // @ts-expect-error: no such type
    client.events({ types: ['transfer.exploded'] })
  })

  test('resumes the stream behind its last event, without reading the feed', async () => {
    const client = await start({
      [listed]: [page([], 1)],
      [streamed]: [stream([2, 3], 'end'), hangUp, stream([4], 'destroy'), stream([5])],
    })
    expect(await take(client.events({ workspaceId, after: '1' }), 4)).toEqual(
      [2, 3, 4, 5].map((each) => [each, `${each}`]),
    )
    expect(gateway.to('/stream').map(({ headers }) => headers['last-event-id'])).toEqual(['1', '3', '3', '4'])
    expect(gateway.to('/events')).toHaveLength(1)
  })

  test('a stream moves the cursor without an event', async () => {
    const moved: Step = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end('id: 7\n\n')
    }
    const client = await start({ [listed]: [page([], 1)], [streamed]: [moved, stream([8])] })
    expect(await take(client.events({ workspaceId, after: '1' }), 1)).toEqual([[8, '8']])
    expect(gateway.to('/stream').map(({ headers }) => headers['last-event-id'])).toEqual(['1', '7'])
  })

  test.each([
    ['has none', refuse(404, 'ROUTE.NOT_FOUND')],
    ['a proxy replaces it', (_: unknown, response: ServerResponse) => void response.writeHead(200).end('<html>')],
  ] as [string, Step][])('polls the feed where a gateway %s', async (_, without) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const skipping = setInterval(() => vi.advanceTimersByTime(1_000), 5)
    try {
      const client = await start({
        [listed]: [page([1], 1), page([2], 2), page([], 2), page([3], 3)],
        [streamed]: [without],
      })
      expect(await take(client.events({ workspaceId, after: '0' }), 3)).toEqual([
        [1, '1'],
        [2, '2'],
        [3, '3'],
      ])
      expect(gateway.to('/stream')).toHaveLength(1)
    } finally {
      clearInterval(skipping)
      vi.useRealTimers()
    }
  })

  test('continues after failures of the feed', async () => {
    const client = await start({
      [listed]: [hangUp, refuse(503, 'SYSTEM.UNAVAILABLE'), page([1], 1)],
      [streamed]: [stream([2])],
    })
    expect(await take(client.events({ workspaceId, after: '0' }), 2)).toEqual([
      [1, '1'],
      [2, '2'],
    ])
  })

  test('EVENT.CURSOR_EXPIRED rejects with the oldest cursor, of the feed and of the stream', async () => {
    const expired = refuse(410, 'EVENT.CURSOR_EXPIRED', { 'x-oldest-cursor': '17' })
    const failure = { code: 'EVENT.CURSOR_EXPIRED', status: 410, oldestCursor: '17' }
    const client = await start({ [listed]: [expired, page([], 3)], [streamed]: [expired] })
    await expect(take(client.events({ workspaceId, after: '2' }), 1)).rejects.toMatchObject(failure)
    await expect(take(client.events({ workspaceId, after: '2' }), 1)).rejects.toMatchObject(failure)
    expect(gateway.seen).toHaveLength(3)
  })

  test('renews the token, and ends with the refusal at the end of the session', async () => {
    const invalid = refuse(401, 'ACCESS.TOKEN_INVALID')
    const onSignedOut = vi.fn()
    const client = await start(
      {
        [listed]: [invalid, page([1], 1)],
        [streamed]: [stream([2], 'end'), invalid],
        [`POST ${prefix}/auth/token/refresh`]: [ok(pair('2')), refuse(404, 'AUTH.SESSION_NOT_FOUND')],
      },
      { onSignedOut },
    )
    const received = client.events({ workspaceId, after: '0' })
    expect((await received.next()).value?.cursor).toBe('1')
    expect((await received.next()).value?.cursor).toBe('2')
    await expect(received.next()).rejects.toMatchObject({ code: 'ACCESS.TOKEN_INVALID' })
    expect(onSignedOut).toHaveBeenCalledOnce()
  })

  test('a break and its signal close the connection', async () => {
    const client = await start({ [listed]: [page([], 1), page([], 1)], [streamed]: [stream([2]), stream([3])] })
    await take(client.events({ workspaceId, after: '1' }), 1)
    await vi.waitFor(() => expect(opened.map((response) => response.closed)).toEqual([true]))
    const controller = new AbortController()
    const received = client.events({ workspaceId, after: '1', signal: controller.signal })
    await received.next()
    setTimeout(() => controller.abort(new Error('enough')), 20)
    await expect(received.next()).rejects.toThrow('enough')
    await vi.waitFor(() => expect(opened.map((response) => response.closed)).toEqual([true, true]))
  })

  test('a signal also ends the pause between polls', async () => {
    const client = await start({ [listed]: [page([], 1)], [streamed]: [refuse(404, 'ROUTE.NOT_FOUND')] })
    const signal = AbortSignal.timeout(200)
    await expect(take(client.events({ workspaceId, after: '1', signal }), 1)).rejects.toThrow(/timeout/i)
  })

  test('an event of another form is CLIENT.INVALID_REPLY', async () => {
    const wrong: Step = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end('id: 2\ndata: {"type":"transfer.completed"}\n\n')
    }
    const pages = Array.from({ length: 9 }, () => page([], 1))
    const client = await start({ [listed]: pages, [streamed]: [wrong] })
    await expect(take(client.events({ workspaceId, after: '1' }), 1)).rejects.toMatchObject({
      code: 'CLIENT.INVALID_REPLY',
    })
  })

  test('sends nothing before the first event is requested', async () => {
    const client = await start({})
    await client.events({ workspaceId }).return()
    expect(gateway.seen).toEqual([])
  })

  test('the clients of operators and of machines read their feeds', async () => {
    const client = await start({
      'GET /web/v1/system/events': [page([1], 1)],
      'GET /api/v1/consumer/events': [page([2], 2)],
    })
    const { baseUrl } = gateway
    const operator = createClient({ baseUrl, portal: 'SYSTEM', accessCode: 'system-dev', seal: 'none' })
    await operator.session.adopt(pair('1'))
    expect(await take(operator.events({ after: '0' }), 1)).toEqual([[1, '1']])
    expect(await take(createApiClient({ baseUrl, apiKey: 'key' }).events({ after: '0' }), 1)).toEqual([[2, '2']])
    expect(client.events).toBeTypeOf('function')
  })
})
