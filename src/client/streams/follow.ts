import { isPorticoError, PorticoError } from '../errors.ts'
import type { Answer, AnyArgs, CallOptions } from '../operation-types.ts'
import type { CallableOperation } from '../portal/operation.ts'
import type { PorticoEvent } from './cloud-event.ts'
import type { Position } from './event-parser.ts'
import { defaultRetryMs, isRetried, pause, readEvents } from './server-events.ts'

export interface EventsOptions<Type extends PorticoEvent['type'] = PorticoEvent['type']>
  extends Pick<CallOptions, 'workspaceId' | 'signal'> {
  /**
   * The `cursor` behind which to continue, or `latest` for events from now on. Default: the oldest stored event.
   */
  after?: string
  /** Default: all types that the caller can read. */
  types?: readonly Type[]
}

export interface ReceivedEvent<Type extends PorticoEvent['type'] = PorticoEvent['type']> {
  event: PorticoEvent<Type>
  /** Store it once the event is handled. A program that continues behind it misses no event, but can see some again. */
  cursor: string
}

interface Feed {
  caller: { call(operation: CallableOperation, args: AnyArgs): Promise<Answer<unknown>> }
  list: CallableOperation
  /** Undefined if the gateway has no stream. */
  stream: CallableOperation | undefined
}

interface FeedPage<Type extends PorticoEvent['type']> {
  events: readonly PorticoEvent<Type>[]
  nextCursor: string
  hasMore: boolean
  latestCursor: string
}

const pollMs = 5_000
/** Three of the gateway's comments. Also for the response to arrive, which a proxy can hold back. */
const silenceMs = 45_000
const maxFailedStreams = 3
/** Without a stream, it is tried again after about ten minutes. */
const pollsPerStream = 80

/**
 * Reads the feed until it is current, and then the stream, which a reconnection resumes. Without a stream, it polls the
 * feed, which prolongs the session.
 */
export async function* followEvents<Type extends PorticoEvent['type']>(
  feed: Feed,
  { after, types, signal, workspaceId }: EventsOptions<Type>,
): AsyncGenerator<ReceivedEvent<Type>, void, undefined> {
  const common: AnyArgs = { ...(signal && { signal }), ...(workspaceId !== undefined && { workspaceId }) }
  const filter = types && { type: types.join(',') }
  const read = async (query: object) => {
    const { data } = await feed.caller.call(feed.list, { ...common, query: { ...filter, ...query } })
    // The operation has checked it.
    return data as FeedPage<Type>
  }
  let cursor = after
  let isCurrent = false
  let polls = feed.stream ? 0 : Infinity
  for (let failures = 0; ; ) {
    let retryAfterMs = 0
    let isOpen = false
    const position: Position = { lastEventId: '', retryMs: defaultRetryMs }
    try {
      if (cursor === 'latest') {
        cursor = (await read({ limit: 1 })).latestCursor
        isCurrent = polls === 0
      }
      while (!isCurrent) {
        // A page has one cursor, so the first page has one event.
        const start: string | undefined = cursor
        const page = await read(start === undefined ? { limit: 1 } : { after: start })
        for (const [index, event] of page.events.entries()) {
          yield { event, cursor: start === undefined || index === page.events.length - 1 ? page.nextCursor : start }
          signal?.throwIfAborted()
        }
        cursor = page.nextCursor
        isCurrent = !page.hasMore
      }
      if (polls > 0) failures = 0
      else {
        position.lastEventId = cursor ?? ''
        for await (const event of streamOf<Type>(feed, { ...common, query: filter ?? {} }, position)) {
          failures = 0
          isOpen = true
          if (event !== null) yield { event, cursor: position.lastEventId }
          signal?.throwIfAborted()
        }
      }
    } catch (error) {
      if (isCurrent && polls === 0 && !isOpen && isWithoutStream(error)) failures = maxFailedStreams
      else if (!isRetried(error)) throw error
      else retryAfterMs = (error.retryAfter ?? 0) * 1_000
    }
    // The gateway can also move it without an event.
    if (position.lastEventId !== '') cursor = position.lastEventId
    failures += 1
    if (polls > 0) polls -= 1
    else if (failures > maxFailedStreams) [polls, failures] = [pollsPerStream, 1]
    if (polls > 0) isCurrent = false
    await pause({ minDelayMs: polls > 0 ? pollMs : defaultRetryMs, retryAfterMs, failures }, signal)
  }
}

/** Yields null for a part of the stream without an event. Closes the connection at the end. */
async function* streamOf<Type extends PorticoEvent['type']>(
  { caller, list, stream }: Feed,
  args: AnyArgs,
  position: Position,
): AsyncGenerator<PorticoEvent<Type> | null, void, undefined> {
  if (!stream) return
  const connection = new AbortController()
  const abort = (): void => connection.abort(args.signal?.reason)
  args.signal?.addEventListener('abort', abort)
  const timer = setTimeout(() => connection.abort(noResponse()), silenceMs)
  try {
    const headers = { 'last-event-id': position.lastEventId }
    const { data } = await caller.call(stream, { ...args, headers, signal: connection.signal })
    clearTimeout(timer)
    // `call` returns the response of a stream.
    for await (const received of readEvents(data as Response, position, silenceMs))
      yield received && parseEvent<Type>(list, received.data)
  } finally {
    clearTimeout(timer)
    args.signal?.removeEventListener('abort', abort)
    connection.abort()
  }
}

/** Checks the event as the feed does. */
function parseEvent<Type extends PorticoEvent['type']>({ id, reply }: CallableOperation, text: string) {
  const checked = typeof reply === 'string' ? null : reply.safeParse(pageWith(text))
  if (checked?.success) {
    const [event] = (checked.data as FeedPage<Type>).events
    if (event) return event
  }
  const message = `an event of the stream does not match the schema of ${id}`
  throw new PorticoError({ status: 200, code: 'CLIENT.INVALID_REPLY', message, requestId: '' })
}

function pageWith(text: string): unknown {
  try {
    return { events: [JSON.parse(text)], nextCursor: '', hasMore: false, latestCursor: '' }
  } catch {
    return null
  }
}

function noResponse(): PorticoError {
  const message = 'no response of the stream before the timeout'
  return new PorticoError({ status: 0, code: 'CLIENT.TIMEOUT', message, requestId: '' })
}

/** An older gateway, or a proxy that answers itself. */
function isWithoutStream(error: unknown): boolean {
  return (
    isPorticoError(error, 'CLIENT.INVALID_REPLY') ||
    (isPorticoError(error) && [404, 405, 406, 501].includes(error.status))
  )
}
