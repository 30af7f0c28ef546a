import { setTimeout as pause } from 'node:timers/promises'
import { type Arrivals, createArrivals } from './arrivals.ts'
import type { Bank } from './bank.ts'

/** Reads the feed of all workspaces from its end on, as a service does that must miss nothing. */
export interface FeedReader {
  readonly arrivals: Arrivals
  stop(): Promise<void>
}

const pageSize = 500

export async function readFeed(bank: Bank): Promise<FeedReader> {
  const arrivals = createArrivals()
  let cursor = await latestCursor(bank)
  let stopped = false
  const reading = async (): Promise<void> => {
    while (!stopped) {
      const { status, body } = await bank.call('operator', 'GET', `/events?limit=${pageSize}&after=${cursor}`)
      if (status === 200) {
        for (const event of body.data.events) arrivals.add(event)
        cursor = body.data.nextCursor
      }
      if (status !== 200 || body.data.events.length < pageSize) await pause(250)
    }
  }
  // The caller waits for it in `stop`. A defect of the reader must not end the process before.
  const done = Promise.allSettled([reading()])
  return {
    arrivals,
    stop: async () => {
      stopped = true
      for (const result of await done) if (result.status === 'rejected') throw result.reason
    },
  }
}

async function latestCursor(bank: Bank): Promise<string> {
  const { status, text, body } = await bank.call('operator', 'GET', '/events?limit=1')
  if (status !== 200) throw new Error(`/events: ${status} ${text}`)
  return body.data.latestCursor
}
