import type { EventReader } from '../../contract/events/readers.ts'
import {
  createConcurrencyLimiter,
  invalid,
  type RunLimited,
  type ServerSentEvent,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { type StoredEvent, toCloudEvent } from '../../platform/events/index.ts'
import { cursor as cursorSchema } from './contract.ts'
import { cutOffOf, type FeedPorts, positionIn, startOf, typesFor } from './feed.ts'

/** Streams that resume read the store a few at a time, so that they delay nobody else. */
const catchUps = { concurrency: 4, waiting: Number.POSITIVE_INFINITY }

const pageSize = 100

/** Events that wait for a slow reader. Behind them, it reads the store again. */
const maxQueued = 1_000

const lastEventIdField = 'Last-Event-ID'

interface StreamRequest {
  query: { type?: readonly string[] | undefined }
  lastEventId: string | null
  signal: AbortSignal
}

type OpenStream = (
  feed: WorkspaceId | null,
  request: StreamRequest,
  reader: EventReader,
) => Promise<AsyncIterable<ServerSentEvent>>

/**
 * Throws the refusals of the feed before the stream starts. The stream shows the types that the reader can read at the start:
 * the gateway ends it when the permissions change.
 */
export function createStreams({ events }: FeedPorts): OpenStream {
  const { runLimited } = createConcurrencyLimiter(catchUps)
  return async (feed, { query, lastEventId, signal }, reader) => {
    const types = typesFor({ events }, reader, query.type)
    if (lastEventId !== null && !cursorSchema.safeParse(lastEventId).success)
      throw invalid(lastEventIdField, 'not a cursor')
    const { oldest, newest } = await events.endsOf(feed)
    const after = startOf(lastEventId ?? String(newest), oldest, newest, lastEventIdField)
    return followFeed({ events }, { feed, types, after, newest }, signal, runLimited)
  }
}

interface Followed {
  feed: WorkspaceId | null
  types: readonly string[]
  after: number
  newest: number
}

/** Reads stored events first, and then those that the tail of this process reads for all streams. */
async function* followFeed(
  { events }: FeedPorts,
  { feed, types, after, newest }: Followed,
  signal: AbortSignal,
  runLimited: RunLimited,
): AsyncGenerator<ServerSentEvent> {
  const arrivals = new Arrivals(signal)
  const unfollow = await events.follow(feed, (found) => arrivals.add(found))
  let last = after
  const next = (event: StoredEvent): ServerSentEvent => {
    last = positionIn(feed, event)
    return { id: String(last), event: event.type, data: toCloudEvent(event, events.source) }
  }
  try {
    while (!signal.aborted) {
      while (arrivals.takeGap()) {
        for (let isFull = true; isFull && !signal.aborted; ) {
          const page = await runLimited(() => events.readAfter(feed, { after: last, types, limit: pageSize }), signal)
          // The client reconnects, and gets the refusal.
          if (last !== newest && (await cutOffOf(events, feed, last, page[0])) !== null) return
          for (const event of page) yield next(event)
          isFull = page.length === pageSize
        }
        // So that a client that reconnects misses nothing, although it has no event yet.
        if (last <= newest) {
          last = newest
          yield { id: String(last) }
        }
      }
      for (let event = arrivals.take(); event; event = arrivals.take())
        if (positionIn(feed, event) > last && types.includes(event.type)) yield next(event)
      await arrivals.wait()
    }
  } finally {
    unfollow()
  }
}

/** The events that the tail has read for one stream. */
class Arrivals {
  readonly #signal: AbortSignal
  #queue: StoredEvent[] = []
  /** Whether stored events have to be read before the queue. */
  #hasGap = true
  #wake: () => void = () => undefined

  constructor(signal: AbortSignal) {
    this.#signal = signal
    signal.addEventListener('abort', () => this.#wake(), { once: true })
  }

  add(events: readonly StoredEvent[]): void {
    if (this.#queue.length + events.length > maxQueued) {
      this.#queue = []
      this.#hasGap = true
    } else this.#queue.push(...events)
    this.#wake()
  }

  takeGap(): boolean {
    const hasGap = this.#hasGap
    this.#hasGap = false
    return hasGap
  }

  /** Undefined at a gap, whose events come first. */
  take(): StoredEvent | undefined {
    return this.#hasGap ? undefined : this.#queue.shift()
  }

  async wait(): Promise<void> {
    if (this.#hasGap || this.#queue.length > 0 || this.#signal.aborted) return
    await new Promise<void>((resolve) => {
      this.#wake = resolve
    })
  }
}
