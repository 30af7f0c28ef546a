import { followEvents, isPorticoError, listEvents } from 'portal-client'
import { client } from '../../kit/client.ts'
import type { FeedEvent } from './words.ts'

/** The events that a page keeps. */
export const maxKept = 100
const pageSize = 200
/** Behind so many pages, the page begins with the next event. */
const maxPages = 5
const retryMs = 30_000

export interface FeedListener {
  /** The newest stored events, oldest first, and the cursor with which to read them again. */
  onRecent(events: readonly FeedEvent[], start: string | undefined): void
  onEvent(event: FeedEvent): void
}

interface Followed {
  workspaceId: string
  /** The cursor with which to begin. Default: the oldest stored event. */
  start: string | undefined
  signal: AbortSignal
}

/** Reads the recent events, and follows the others until `signal`. A lost connection is silent. */
export async function followFeed({ workspaceId, start, signal }: Followed, listener: FeedListener): Promise<void> {
  for (let first = start; !signal.aborted; ) {
    try {
      const recent = await readRecent(workspaceId, first, signal)
      listener.onRecent(recent.events, recent.start)
      for await (const { event } of followEvents(client, { workspaceId, after: recent.cursor, signal }))
        listener.onEvent(event)
    } catch (error) {
      // Without a session or the permission, the gate of the session decides about the page.
      if (signal.aborted || (isPorticoError(error) && [401, 403].includes(error.status))) return
      // The cursor has expired, or is of another database.
      if (isPorticoError(error) && [400, 410].includes(error.status)) first = undefined
      await pause(retryMs, signal)
    }
  }
}

async function readRecent(workspaceId: string, start: string | undefined, signal: AbortSignal) {
  const starts: (string | undefined)[] = []
  const events: FeedEvent[] = []
  let cursor = start
  for (let page = 0; page < maxPages; page++) {
    const query = { limit: pageSize, ...(cursor !== undefined && { after: cursor }) }
    const feed = await client.call(listEvents, { workspaceId, query, signal })
    if (feed.events.length > 0) starts.push(cursor)
    events.push(...feed.events)
    cursor = feed.nextCursor
    // The page before has the events that the last one has no room for.
    if (!feed.hasMore) return { events: events.slice(-maxKept), cursor, start: starts.at(-2) ?? starts.at(-1) ?? start }
    if (page === maxPages - 1) cursor = feed.latestCursor
  }
  return { events: [], cursor: cursor ?? 'latest', start: cursor }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
