import type { EventsPort } from '../../api/domain.ts'
import { assertReadableEvents, type EventReader, readableEvents } from '../../contract/events/readers.ts'
import { invalid, Refusal, type WorkspaceId } from '../../kernel/index.ts'
import { type StoredEvent, toCloudEvent } from '../../platform/events/index.ts'

export interface FeedPorts {
  events: Pick<EventsPort, 'types' | 'source' | 'endsOf' | 'readAfter' | 'follow'>
}

interface FeedQuery {
  after?: string | undefined
  type?: readonly string[] | undefined
  limit: number
}

/** Returns the events of a feed that the reader can read, of a workspace or, for operators, of all. */
export async function readFeed({ events }: FeedPorts, feed: WorkspaceId | null, query: FeedQuery, reader: EventReader) {
  const types = typesFor({ events }, reader, query.type)
  const { oldest, newest } = await events.endsOf(feed)
  const after = startOf(query.after, oldest, newest)
  const found = await events.readAfter(feed, { after, types, limit: query.limit })
  if (query.after !== undefined && after < newest) {
    const cutOff = await cutOffOf(events, feed, after, found[0])
    if (cutOff !== null) throw expired(cutOff, 'after')
  }
  const last = found.at(-1)
  const hasMore = found.length === query.limit
  // Without further events of these types, the reader continues behind all that were visible before the read.
  const next = last && hasMore ? positionIn(feed, last) : Math.max(after, newest, last ? positionIn(feed, last) : 0)
  return {
    events: found.map((event) => toCloudEvent(event, events.source)),
    nextCursor: String(next),
    hasMore,
    latestCursor: String(Math.max(newest, next)),
  }
}

/** Returns the types to read: `requested`, or all that the reader can read. Throws the refusals of `assertReadableEvents`. */
export function typesFor(
  { events }: { events: Pick<EventsPort, 'types'> },
  reader: EventReader,
  requested: readonly string[] | undefined,
): readonly string[] {
  if (!requested) return readableEvents(events.types, reader)
  assertReadableEvents(events.types, requested, reader, () => 'type')
  return requested
}

/**
 * Returns the oldest cursor if the retention has deleted events behind `after` before `first` was read, the first event
 * behind it. Otherwise null.
 */
export async function cutOffOf(
  events: Pick<EventsPort, 'endsOf'>,
  feed: WorkspaceId | null,
  after: number,
  first: StoredEvent | undefined,
): Promise<number | null> {
  if (first && positionIn(feed, first) === after + 1) return null
  const { oldest } = await events.endsOf(feed)
  return after < oldest ? oldest : null
}

/** Throws EVENT.CURSOR_EXPIRED before the oldest stored event, and VALIDATION.INVALID_PARAMETER after the newest. */
export function startOf(after: string | undefined, oldest: number, newest: number, field = 'after'): number {
  if (after === undefined) return oldest
  const position = Number(after)
  if (position < oldest) throw expired(oldest, field)
  if (position > newest) throw invalid(field, 'a cursor after the newest event: continue from latestCursor')
  return position
}

/** The cursor behind an event. */
export function positionIn(
  feed: WorkspaceId | null,
  event: { position: number; workspacePosition: number | null },
): number {
  return feed === null ? event.position : (event.workspacePosition ?? 0)
}

function expired(oldest: number, field: string): Refusal {
  const headers = { 'X-Oldest-Cursor': String(oldest) }
  return new Refusal('EVENT.CURSOR_EXPIRED', { field, headers, internal: `the oldest cursor is ${oldest}` })
}
