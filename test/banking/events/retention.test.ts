import { expect, test } from 'vitest'
import type { FeedPorts } from '../../../src/banking/events/feed.ts'
import { readFeed } from '../../../src/banking/events/feed.ts'
import { createStreams } from '../../../src/banking/events/stream.ts'
import { bizId, type Permission, type ServerSentEvent, toInstant } from '../../../src/kernel/index.ts'
import type { StoredEvent } from '../../../src/platform/events/index.ts'
import { refusalOf } from '../world.ts'

const workspace = bizId<'workspace'>('01990000-0000-7000-8000-00000000000a')
const reader = { audience: 'workspace', permissions: new Set(['x:read' as Permission]) } as const
const row = { audience: 'workspace', permission: 'x:read', operatorPermission: null }

/** A feed of 20 events, whose first 10 the retention deletes just before the events are read. */
function feedCutOff() {
  let deleted = 0
  const all = Array.from({ length: 20 }, (_, index): StoredEvent => {
    const position = index + 1
    const common = { type: 'x.done', subject: String(position), data: {}, at: toInstant(0), forOperators: true }
    const id = bizId<'event'>(String(position))
    return { ...common, id, position, workspaceId: workspace, workspacePosition: position }
  })
  const events = {
    types: new Map([['x.done', row]]),
    source: 'https://portico.test',
    endsOf: async () => ({ oldest: deleted, newest: 20 }),
    readAfter: async (_: unknown, { after, limit }: { after: number; limit: number }) => {
      deleted = 10
      return all.filter(({ position }) => position > Math.max(after, deleted)).slice(0, limit)
    },
    follow: async () => () => undefined,
  }
  return { events } as unknown as FeedPorts
}

test('events.list 410 EVENT.CURSOR_EXPIRED: the retention deletes events behind the cursor during the read', async () => {
  expect(await refusalOf(readFeed(feedCutOff(), workspace, { after: '5', limit: 5 }, reader))).toBe(
    'EVENT.CURSOR_EXPIRED',
  )
  const page = await readFeed(feedCutOff(), workspace, { after: '10', limit: 5 }, reader)
  expect(page.events.map(({ id }) => id)).toEqual(['11', '12', '13', '14', '15'])
})

test('events.stream: ends before the gap if the retention deletes events that it has not read yet', async () => {
  const ending = new AbortController()
  const open = (lastEventId: string) =>
    createStreams(feedCutOff())(workspace, { query: {}, lastEventId, signal: ending.signal }, reader)
  const seen: ServerSentEvent[] = []
  for await (const event of await open('5')) seen.push(event)
  expect(seen).toEqual([])
  for await (const event of await open('10')) {
    seen.push(event)
    if (event.id === '20') break
  }
  expect(seen.map(({ id }) => id)).toEqual(['11', '12', '13', '14', '15', '16', '17', '18', '19', '20'])
})
