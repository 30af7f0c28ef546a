import { maxTimerMs } from '../../kernel/index.ts'
import { isPorticoError, PorticoError } from '../errors.ts'
import type { CallOptions } from '../operation-types.ts'
import { backoffMs, isTransient, sleep } from '../retry.ts'
import { EventParser, type Position, type ServerEvent } from './event-parser.ts'

/** Until the service sends `retry`. */
export const defaultRetryMs = 1_000
/** A service that asks for no delay must not be called in a loop. */
const minRetryMs = 100
const maxBackoffMs = 30_000

/**
 * Yields the events of a stream: `for await (const { id, event, data } of serverEvents(client.watchCards, { workspaceId }))`.
 * After a disconnection it calls the method again, with the id of the last event as Last-Event-ID. It waits for `retry` or
 * Retry-After, and longer after each failure in a row.
 *
 * A `break` and `signal` close the connection. Rejects like a call of the method, such as after the end of the session, but
 * not for a gateway or service that is unavailable or limits its callers.
 */
export async function* serverEvents<Args extends [args?: CallOptions]>(
  method: (...args: Args) => Promise<Response>,
  ...[args]: Args
): AsyncGenerator<ServerEvent, void, undefined> {
  const { 'last-event-id': lastEventId = '', ...headers } = lowerCase(args?.headers)
  const position: Position = { lastEventId, retryMs: defaultRetryMs }
  const signal = args?.signal
  for (let failures = 0; ; ) {
    let retryAfterMs = 0
    try {
      const resume = position.lastEventId === '' ? {} : { 'last-event-id': position.lastEventId }
      // The caller's arguments with another header.
      const next = [{ ...args, headers: { ...headers, ...resume } }] as unknown as Args
      for await (const received of readEvents(await method(...next), position)) {
        failures = 0
        if (received !== null) yield received
        signal?.throwIfAborted()
      }
    } catch (error) {
      if (!isRetried(error)) throw error
      retryAfterMs = (error.retryAfter ?? 0) * 1_000
    }
    failures += 1
    await pause({ minDelayMs: position.retryMs, retryAfterMs, failures }, signal)
  }
}

/** Half of the delay is random, and it is never shorter than `minDelayMs`. */
export function pause(
  { minDelayMs, retryAfterMs, failures }: { minDelayMs: number; retryAfterMs: number; failures: number },
  signal: AbortSignal | undefined,
): Promise<void> {
  const firstDelayMs = 2 * Math.min(Math.max(minDelayMs, minRetryMs), maxTimerMs)
  const rule = { attempts: Infinity, firstDelayMs, maxDelayMs: Math.max(firstDelayMs, maxBackoffMs) }
  return sleep(Math.max(retryAfterMs, backoffMs(rule, failures)), signal)
}

/**
 * Yields null for a part of the stream without an event, such as a comment. Ends if the connection does, or is silent for
 * `silenceMs`.
 */
export async function* readEvents(
  response: Response,
  position: Position,
  silenceMs = Infinity,
): AsyncGenerator<ServerEvent | null, void, undefined> {
  const isStream = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')
  if (!isStream || !response.body) {
    await response.body?.cancel()
    throw new TypeError('the method has no event stream')
  }
  const reader = response.body.getReader()
  // A connection whose other side is gone reports nothing.
  const isSilent = (): void => void reader.cancel().catch(() => undefined)
  let timer: ReturnType<typeof setTimeout> | undefined
  try {
    const parser = new EventParser(position)
    // Also removes a byte order mark.
    const decoder = new TextDecoder()
    for (;;) {
      clearTimeout(timer)
      if (silenceMs <= maxTimerMs) timer = setTimeout(isSilent, silenceMs)
      const { value, done } = await reader.read().catch(() => ({ value: undefined, done: true }))
      if (done) return
      yield null
      yield* parser.read(decoder.decode(value, { stream: true }))
    }
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    throw invalidEvent(response, cause)
  } finally {
    clearTimeout(timer)
    await reader.cancel().catch(() => undefined)
  }
}

export function isRetried(error: unknown): error is PorticoError {
  return isTransient(error) || (isPorticoError(error) && error.status === 429)
}

function invalidEvent({ status, headers }: Response, cause: RangeError): PorticoError {
  const requestId = headers.get('x-request-id') ?? ''
  return new PorticoError({ status, code: 'CLIENT.INVALID_REPLY', message: cause.message, requestId, cause })
}

function lowerCase(headers: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
