import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import type { Database } from '../../../src/database/index.ts'
import { inTransaction } from '../../../src/database/index.ts'
import { Lease } from '../../../src/database/lease.ts'
import { bizId, toInstant, type WorkspaceId } from '../../../src/kernel/index.ts'
import { EventTail, type StoredEvent } from '../../../src/platform/events/index.ts'
import { insertEvents } from '../../../src/platform/events/store.ts'
import { createLocalPubSub } from '../../../src/platform/pubsub.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { createMovableDurations } from '../../harness/durations.ts'
import { testDatabase } from '../../identity/database.ts'

const [one, two] = ['01990000-0000-7000-8000-00000000000a', '01990000-0000-7000-8000-00000000000b'].map((id) =>
  bizId<'workspace'>(id),
) as [WorkspaceId, WorkspaceId]

let database: Database
let close: () => Promise<void>
let position = 0
beforeAll(async () => {
  const opened = await testDatabase()
  database = opened.database
  close = opened.close
})
afterAll(() => close?.())
beforeEach(() => vi.restoreAllMocks())

async function record(...workspaces: (WorkspaceId | null)[]): Promise<number[]> {
  const events = workspaces.map((workspaceId): StoredEvent => {
    position += 1
    return {
      id: systemIds.next<'event'>(),
      at: toInstant(0),
      type: 'test.happened',
      subject: String(position),
      position,
      workspaceId,
      workspacePosition: workspaceId && position,
      forOperators: true,
      data: {},
    }
  })
  await inTransaction(database, (tx) => insertEvents(tx, events, []))
  return events.map((event) => event.position)
}

function openTail(onFault: (error: unknown) => void = () => undefined) {
  const pubsub = createLocalPubSub()
  const durations = createMovableDurations()
  durations.stop()
  const tail = new EventTail({ database, pubsub, durations, onFault })
  const follow = async (feed: WorkspaceId | null) => {
    const seen: number[] = []
    const stop = await tail.follow(feed, (events) => seen.push(...events.map((event) => event.position)))
    return { seen, stop }
  }
  return { follow, durations, wake: () => pubsub.publish('events-sequenced', '') }
}

test('one statement per message reads for all followers; each gets the events of its feed', async () => {
  const { follow, wake } = openTail()
  await record(one)
  const ofOne = await Promise.all(Array.from({ length: 50 }, () => follow(one)))
  const [ofTwo, ofAll] = [await follow(two), await follow(null)]
  const sent = vi.spyOn(Lease.prototype, 'executeQuery')
  const [first, second, third] = await record(one, two, null)
  const before = sent.mock.calls.length
  wake()
  await expect.poll(() => ofAll.seen).toEqual([first, second, third])
  expect(sent.mock.calls.length - before).toBe(1)
  expect(ofTwo.seen).toEqual([second])
  for (const { seen } of ofOne) expect(seen).toEqual([first])
  for (const { stop } of [...ofOne, ofTwo, ofAll]) stop()
})

test('a poll finds events whose message was lost; without followers, nothing is read', async () => {
  const { follow, durations, wake } = openTail()
  const follower = await follow(one)
  const [event] = await record(one)
  durations.skip(1_000)
  await expect.poll(() => follower.seen).toEqual([event])
  follower.stop()
  const sent = vi.spyOn(Lease.prototype, 'executeQuery')
  wake()
  durations.skip(5_000)
  await pause(20)
  expect([sent.mock.calls.length, durations.timers()]).toEqual([0, 0])
})

test('more events than one statement returns, and events during a read, reach every follower once', async () => {
  const { follow, wake } = openTail()
  const followers = [await follow(one), await follow(null)]
  const events = await record(...Array.from({ length: 1_200 }, () => one))
  wake()
  const late = follow(one)
  events.push(...(await record(one)))
  wake()
  await expect.poll(() => followers.map(({ seen }) => seen.length)).toEqual([1_201, 1_201])
  for (const { seen } of followers) expect(seen).toEqual(events)
  const { seen } = await late
  expect(seen.at(-1)).toBe(events.at(-1))
  expect(seen).toEqual([...new Set(seen)])
})

test('after a failure of the store, the next poll reads what was missed', async () => {
  const faults: unknown[] = []
  const { follow, durations, wake } = openTail((error) => faults.push(error))
  const follower = await follow(one)
  vi.spyOn(Lease.prototype, 'executeQuery').mockRejectedValueOnce(new Error('no connection'))
  wake()
  await expect.poll(() => faults.length).toBe(1)
  const [event] = await record(one)
  durations.skip(1_000)
  await expect.poll(() => follower.seen).toEqual([event])
})
