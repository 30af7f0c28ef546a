import { setTimeout as pause } from 'node:timers/promises'
import type { Bank } from './bank.ts'

interface FeedEvent {
  id: string
  type: string
  subject: string
}

/** Reads the feed of all workspaces from its end on, as a service does that must miss nothing. */
export interface FeedReader {
  /** How often each event was received, by type and subject. */
  readonly received: ReadonlyMap<string, number>
  /** Ids of events that were received more than once. */
  readonly repeated: readonly string[]
  /** Reads until all these events have arrived, or none for a minute. */
  finish(expected: readonly string[]): Promise<void>
}

const pageSize = 500
const silenceMs = 60_000

export async function readFeed(bank: Bank): Promise<FeedReader> {
  const received = new Map<string, number>()
  const ids = new Set<string>()
  const repeated: string[] = []
  let cursor = await latestCursor(bank)
  let expected: readonly string[] | undefined
  let lastAt = 0
  const readPage = async (): Promise<boolean> => {
    const { status, body } = await bank.call('operator', 'GET', `/events?limit=${pageSize}&after=${cursor}`)
    if (status !== 200) return false
    const events: FeedEvent[] = body.data.events
    for (const { id, type, subject } of events) {
      if (ids.has(id)) repeated.push(id)
      ids.add(id)
      const key = `${type} ${subject}`
      received.set(key, (received.get(key) ?? 0) + 1)
    }
    cursor = body.data.nextCursor
    if (events.length > 0) lastAt = performance.now()
    return events.length > 0
  }
  const reading = async (): Promise<void> => {
    for (;;) {
      if (await readPage()) continue
      const isSilent = performance.now() - lastAt > silenceMs
      if (expected && (isSilent || expected.every((key) => received.has(key)))) return
      await pause(250)
    }
  }
  // The caller waits for it in `finish`. A defect of the reader must not end the process before.
  const done = Promise.allSettled([reading()])
  return {
    received,
    repeated,
    finish: async (events) => {
      expected = events
      lastAt = performance.now()
      for (const result of await done) if (result.status === 'rejected') throw result.reason
    },
  }
}

async function latestCursor(bank: Bank): Promise<string> {
  const { status, text, body } = await bank.call('operator', 'GET', '/events?limit=1')
  if (status !== 200) throw new Error(`/events: ${status} ${text}`)
  return body.data.latestCursor
}
