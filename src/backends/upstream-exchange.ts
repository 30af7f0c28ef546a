import type { Duplex } from 'node:stream'
import type { Dispatcher } from 'undici'
import { Refusal } from '../kernel/index.ts'
import { invalidReply, isUncoded, type Reply, tooLong } from './upstream-reply.ts'

interface Bounds {
  maxReplyBytes: number
  /** Milliseconds that are left, from now to the last byte. */
  remainingMs: number
}

type Fields = Record<string, string | string[] | undefined>

const one = (value: string | string[] | undefined): string => (Array.isArray(value) ? value.join(', ') : (value ?? ''))

/** Why a reply is not read at all: an encoding that we did not ask for, or more than we take. */
const objection = (headers: Fields, maxReplyBytes: number): Refusal | undefined => {
  if (!isUncoded(one(headers['content-encoding']))) return invalidReply('content encoding')
  return Number(one(headers['content-length'])) > maxReplyBytes ? tooLong('reply') : undefined
}

/** One answer on its way, as undici tells of it; read whole, and handed on or refused once. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #maxReplyBytes: number
  readonly #resolve: (reply: Reply) => void
  readonly #reject: (error: Error) => void
  readonly #timer: NodeJS.Timeout
  readonly #chunks: Buffer[] = []
  #size = 0
  #status = 0
  #contentType = ''
  #retryAfter = ''
  #rateLimitPolicy = ''
  #controller: Dispatcher.DispatchController | null = null
  #failed: Error | null = null
  #isOver = false

  constructor({ maxReplyBytes, remainingMs }: Bounds, resolve: (reply: Reply) => void, reject: (error: Error) => void) {
    this.#maxReplyBytes = maxReplyBytes
    this.#resolve = resolve
    this.#reject = reject
    this.#timer = setTimeout(Exchange.#due, Math.max(0, remainingMs), this)
  }

  /**
   * An answer that came while this process did something else, or nothing, lies in the socket unread: it is looked for once
   * more before it counts as too late. Of what was not sent there is none, and it must not be sent meanwhile.
   */
  static #due(exchange: Exchange): void {
    if (exchange.#controller) setImmediate(Exchange.#late, exchange)
    else Exchange.#late(exchange)
  }

  static #late(exchange: Exchange): void {
    if (exchange.#isOver) return
    exchange.#fail(new Refusal('SYSTEM.UPSTREAM_TIMEOUT', { internal: 'total deadline' }))
  }

  #end(): void {
    clearTimeout(this.#timer)
    this.#isOver = true
  }

  #fail(error: Error): void {
    this.#end()
    this.#failed = error
    this.#reject(error)
    // The connection has to go as well: what is still coming belongs to nobody.
    this.#controller?.abort(error)
  }

  onRequestStart(started: Dispatcher.DispatchController): void {
    this.#controller = started
    // Its turn for a connection has come too late: sent now it would take place after it was refused.
    if (this.#failed) started.abort(this.#failed)
  }

  onRequestUpgrade(_controller: unknown, _status: number, _headers: Fields, socket: Duplex): void {
    socket.destroy()
    this.#fail(invalidReply('an upgrade'))
  }

  onResponseStart(_controller: unknown, status: number, headers: Fields): void {
    this.#status = status
    this.#contentType = one(headers['content-type'])
    this.#retryAfter = one(headers['retry-after'])
    this.#rateLimitPolicy = one(headers['ratelimit-policy'])
    const refused = objection(headers, this.#maxReplyBytes)
    if (refused) this.#fail(refused)
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    this.#size += chunk.length
    if (this.#size > this.#maxReplyBytes) this.#fail(tooLong('reply'))
    else this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    this.#end()
    const [first] = this.#chunks
    this.#resolve({
      status: this.#status,
      contentType: this.#contentType,
      retryAfter: this.#retryAfter,
      rateLimitPolicy: this.#rateLimitPolicy,
      bytes: this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks),
    })
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#end()
    this.#reject(error)
  }
}

/**
 * One request whose answer is read whole, within its bounds. undici's dispatch is used below its promises and streams,
 * which would cost as much as everything else that the gateway does for a request.
 */
export const exchangeWhole = (
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  bounds: Bounds,
): Promise<Reply> =>
  new Promise((resolve, reject) => {
    dispatcher.dispatch(request, new Exchange(bounds, resolve, reject))
  })
