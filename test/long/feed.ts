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
  /** Reads to the end and stops. */
  finish(): Promise<void>
}

const pageSize = 500

export async function readFeed(bank: Bank): Promise<FeedReader> {
  const received = new Map<string, number>()
  const ids = new Set<string>()
  const repeated: string[] = []
  let cursor = await latestCursor(bank)
  let isFinishing = false
  const readPage = async (): Promise<boolean> => {
    const { status, body } = await bank.call('operator', 'GET', `/events?limit=${pageSize}&after=${cursor}`)
    if (status !== 200) return true
    const events: FeedEvent[] = body.data.events
    for (const { id, type, subject } of events) {
      if (ids.has(id)) repeated.push(id)
      ids.add(id)
      const key = `${type} ${subject}`
      received.set(key, (received.get(key) ?? 0) + 1)
    }
    cursor = body.data.nextCursor
    return events.length > 0
  }
  const reading = async (): Promise<void> => {
    for (;;) {
      const wasFinishing = isFinishing
      if (await readPage()) continue
      if (wasFinishing) return
      await pause(250)
    }
  }
  // The caller waits for it in `finish`. A defect of the reader must not end the process before.
  const done = Promise.allSettled([reading()])
  return {
    received,
    repeated,
    finish: async () => {
      // Events get their positions shortly after the transaction that wrote them.
      await pause(2_000)
      isFinishing = true
      for (const result of await done) if (result.status === 'rejected') throw result.reason
    },
  }
}

async function latestCursor(bank: Bank): Promise<string> {
  const { status, text, body } = await bank.call('operator', 'GET', '/events?limit=1')
  if (status !== 200) throw new Error(`/events: ${status} ${text}`)
  return body.data.latestCursor
}
