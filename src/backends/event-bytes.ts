import { Readable } from 'node:stream'
import { headers as knownHeaders } from '../contract/headers.ts'
import type { Call } from '../gateway/pipeline/call.ts'
import { invalid, isRecord, type ServerSentEvent, StreamReply } from '../kernel/index.ts'
import { internalError } from './internal-error.ts'

/** `X-Accel-Buffering` keeps nginx in front of the gateway from collecting events (docs/guides/pass-through.md). */
export const eventHeaders = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' }

/** Throws VALIDATION.INVALID_PARAMETER for a malformed one: without it, the client would miss events. */
export function readLastEventId({ headers }: Pick<Call, 'headers'>): string | null {
  const { field, accepts } = knownHeaders.lastEventId
  const id = headers.optional(field) || null
  if (id !== null && !accepts(id)) throw invalid(field, 'a malformed Last-Event-ID')
  return id
}

/** The events of a handler in this process. The gateway adds the comments that keep them open. */
export class HandlerEvents extends StreamReply {
  /** `ended` is aborted once nobody reads the events any more. */
  constructor(events: AsyncIterable<ServerSentEvent>, ended: AbortController) {
    super(200, eventHeaders, new EventBytes(events[Symbol.asyncIterator](), ended))
  }
}

export function isAsyncIterable(value: unknown): value is AsyncIterable<ServerSentEvent> {
  return isRecord(value) && typeof Reflect.get(value, Symbol.asyncIterator) === 'function'
}

/** Asks for an event only when there is room for it, so that a slow reader slows the handler. */
class EventBytes extends Readable {
  readonly #events: AsyncIterator<ServerSentEvent>
  readonly #ended: AbortController

  constructor(events: AsyncIterator<ServerSentEvent>, ended: AbortController) {
    super()
    this.#events = events
    this.#ended = ended
  }

  override _read(): void {
    void this.#pull()
  }

  async #pull(): Promise<void> {
    try {
      const { done, value } = await this.#events.next()
      this.push(done ? null : format(value))
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error('the handler threw no error', { cause: error }))
    }
  }

  /** A generator runs its `finally` blocks. One that waits ignores this until the signal wakes it. */
  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#ended.abort()
    // Nobody waits for a rejection, so the process reports it.
    void this.#events.return?.()
    done(error)
  }
}

/** https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream */
function format({ id, event, data }: ServerSentEvent): string {
  const lines = [...fieldLine('id', id), ...fieldLine('event', event), ...dataLine(data), '\n']
  return lines.join('')
}

function dataLine(data: unknown): string[] {
  return data === undefined ? [] : [`data: ${JSON.stringify(data) ?? 'null'}\n`]
}

function fieldLine(name: 'id' | 'event', value: string | undefined): string[] {
  if (value === undefined) return []
  if (!/^[!-~]{1,256}$/.test(value))
    throw internalError(`the ${name} of an event must be 1 to 256 visible ASCII characters`)
  return [`${name}: ${value}\n`]
}
