import { type Readable, Transform } from 'node:stream'
import { HandlerEvents } from '../../../backends/index.ts'
import { type Durations, Refusal, StreamReply } from '../../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'
import type { OpenStream, OpenStreams } from '../open-streams.ts'
import type { CheckCaller } from './access-control.ts'

/** Time that the client gets to read what was sent before its stream ended. */
const flushMs = 250

class EventRelay extends Transform {
  #stream: OpenStream | undefined
  #source: Readable | undefined
  #failure: unknown
  #sendsComments = false
  readonly #durations: Durations

  constructor(maxBufferedBytes: number, durations: Durations) {
    super({ readableHighWaterMark: maxBufferedBytes / 2, writableHighWaterMark: maxBufferedBytes / 2 })
    this.#durations = durations
    // The reader gets errors from its own pipeline. Without a reader, they must not end the process.
    this.on('error', (error) => {
      this.#failure = error
    })
  }

  /** If the events break off, the client's connection is destroyed. */
  start(stream: OpenStream, source: Readable, ofHandler: boolean): void {
    this.#stream = stream
    this.#source = source
    this.#sendsComments = ofHandler
    const breakOff = (cause?: Error): void => {
      if (this.writableEnded) return
      const detail = { internal: 'event stream broke off', cause }
      this.destroy((ofHandler && cause) || new Refusal('SYSTEM.UPSTREAM_INVALID_RESPONSE', detail))
    }
    let isEnded = false
    source.on('end', () => {
      isEnded = true
    })
    source.on('error', breakOff).on('close', () => {
      if (!isEnded) breakOff()
    })
    this.on('close', () => {
      source.destroy()
      stream.release(isEnded ? 'service' : isStalled(this.#failure) ? 'slow' : 'client')
    })
    source.pipe(this)
  }

  /** The comments of a handler's stream, whose chunks are whole events. A full buffer must not grow. */
  keepAlive(): void {
    if (this.#sendsComments && !this.writableNeedDrain && !this.writableEnded) this.write(': alive\n\n')
  }

  /** Ends the stream abruptly if the client does not read the rest. */
  stop(): void {
    this.#source?.unpipe(this)
    this.end()
    this.#source?.destroy()
    const timer = this.#durations.after(flushMs, () => this.destroy())
    this.once('close', () => timer.close())
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: (error: null, chunk: Buffer) => void): void {
    this.#stream?.touch()
    done(null, chunk)
  }
}

export interface EventStreamPorts {
  streams: OpenStreams
  checkCaller: CheckCaller
  maxBufferedBytes: number
  durations: Durations
}

/** Counts an event stream before the service is contacted, or the handler called. */
export function relayEventsStage(ports: EventStreamPorts, dispatch: Stage): Stage {
  return (call) => (call.operation.reply === 'events' ? relayEvents(ports, call, dispatch) : dispatch(call))
}

async function relayEvents(ports: EventStreamPorts, call: Call, dispatch: Stage): Promise<void> {
  const { streams, checkCaller, maxBufferedBytes, durations } = ports
  const relay = new EventRelay(maxBufferedBytes, durations)
  const stream = streams.open(call, {
    checkCaller,
    keepAlive: () => relay.keepAlive(),
    close: () => relay.stop(),
  })
  try {
    await dispatch(call)
    if (!(call.reply instanceof StreamReply)) throw new TypeError('an event stream has no bytes')
  } catch (error) {
    stream.release(call.client.isGone ? 'client' : 'service')
    throw error
  }
  const { status, headers, body } = call.reply
  if (relay.writableEnded) {
    body.destroy()
    stream.release('service')
    throw new Refusal('SYSTEM.UNAVAILABLE', { retryAfter: 1, internal: 'the stream ended before its head arrived' })
  }
  relay.start(stream, body, call.reply instanceof HandlerEvents)
  call.reply = new StreamReply(status, headers, relay)
}

/** src/gateway/http/stream-body.ts measures the client. */
function isStalled(failure: unknown): boolean {
  return failure instanceof Refusal && failure.code === 'REQUEST.TIMEOUT'
}
