import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bankingCatalogue } from '../../../src/contract/index.ts'
import { developmentIds } from '../../../src/seed/development.ts'
import { send } from '../../harness/http.ts'
import { needsStore } from '../../harness/needs.ts'
import { invalid, startMoneyWorld } from '../money-world.ts'

const { mainUsd, savingsUsd, workspace } = developmentIds

interface Feed {
  events: {
    id: string
    type: string
    subject: string
    time: string
    workspacebizid?: string
    data: { version: number }
  }[]
  nextCursor: string
  hasMore: boolean
  latestCursor: string
}

describe('feed of events', needsStore(), () => {
  let world: Awaited<ReturnType<typeof startMoneyWorld>>
  beforeAll(async () => {
    world = await startMoneyWorld()
  })
  afterAll(() => world?.portico.stop())

  const transfer = async (on = 0): Promise<string> => {
    const body = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd, amount: '0.01', currency: 'USD' }
    const { urls } = world.portico
    const call = { token: world.owner.accessToken, workspace, body }
    const done = await send(urls[on % urls.length] ?? '', 'POST', '/web/v1/consumer/transfer/command/create', call)
    expect(done.status, done.text).toBe(200)
    return done.body.data.bizId
  }
  const read = (query: string): Promise<Feed> => world.data(world.web('GET', `/events?${query}`))
  const readAll = (query: string): Promise<Feed> => world.data(world.system('GET', `/events?${query}`))
  const until = async (feed: typeof read, after: string, isDone: (events: Feed['events']) => boolean) => {
    const found: Feed['events'] = []
    for (let cursor = after; ; ) {
      const { events, nextCursor } = await feed(`after=${cursor}`)
      found.push(...events)
      cursor = nextCursor
      if (isDone(found)) return found
    }
  }

  test('events.list 200: a completed transfer is an event with the view of the reader', async () => {
    const { latestCursor } = await read('')
    const order = await transfer()
    const [event] = await until(read, latestCursor, (events) => events.length > 0)
    const view = await world.data(world.web('GET', `/transfer/query/orders/${order}`))
    expect(event).toMatchObject({
      specversion: '1.0',
      source: expect.stringMatching(/^http/),
      type: 'transfer.completed',
      subject: order,
      time: view.updatedAt,
      datacontenttype: 'application/json',
      workspacebizid: workspace,
      data: view,
    })
  })

  test('events.list 200: 8 writers and a reader on another replica: each event once, in the order of positions', async () => {
    const { latestCursor } = await read('')
    const { latestCursor: latestOfAll } = await readAll('')
    const orders: string[] = []
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let count = 0; count < 12; count++) orders.push(await transfer(writer))
    })
    const reader = until(read, latestCursor, (events) => events.length >= 96)
    const operator = until(readAll, latestOfAll, (events) => events.length >= 96)
    await Promise.all(writers)
    for (const seen of [await reader, await operator]) {
      expect(seen.map(({ subject }) => subject).toSorted()).toEqual(orders.toSorted())
      expect(new Set(seen.map(({ id }) => id)).size).toBe(96)
    }
    const { events } = await read(`after=${latestCursor}&limit=500`)
    expect(events.map(({ id }) => id)).toEqual((await reader).map(({ id }) => id))
  })

  test('events.list 400: a cursor behind the newest event, an unknown type, and a type of another audience', async () => {
    for (const query of ['after=999999', 'type=transfer.vanished', 'type=', 'after=x', 'limit=501'])
      expect([(await world.web('GET', `/events?${query}`)).status, query]).toEqual([400, query])
    expect((await world.web('GET', '/events?type=transfer.vanished')).body.code).toBe(invalid[1])
  })

  test('events.list 200: `type` selects, and the cursor passes the other events', async () => {
    const { latestCursor } = await read('')
    await transfer()
    await until(read, latestCursor, (events) => events.length > 0)
    const { events, nextCursor } = await read(`after=${latestCursor}&type=transfer.failed,transfer.expired`)
    expect([events, Number(nextCursor)]).toEqual([[], Number(latestCursor) + 1])
  })

  test('catalogue.events: each status in which a move leaves an order', () => {
    const types = [...bankingCatalogue.events.keys()].filter((type) => type.startsWith('transfer.'))
    expect(types.toSorted()).toEqual([
      'transfer.cancelled',
      'transfer.completed',
      'transfer.expired',
      'transfer.failed',
      'transfer.pending_approval',
    ])
  })
})
