import type { Duplex } from 'node:stream'
import type { Dispatcher } from 'undici'
import { hooksHeader } from '../../contract/header-values.ts'
import { type Client, clientDisconnected, isCommand } from '../../gateway/pipeline/call.ts'
import type { Durations, Refusal, Timer } from '../../kernel/index.ts'
import {
  brokenReply,
  invalidReply,
  isIdentityEncoding,
  replyTooLong,
  toSeconds,
  type UpstreamReply,
  unexpectedReply,
  upstreamTimeout,
} from './reply.ts'

interface ReplyLimits {
  maxReplyBytes: number
  durations: Durations
  /** Milliseconds until the last byte must have arrived. */
  remainingMs: number
  /** Waits for the reply. A command that was sent runs on without it. */
  client?: Pick<Client, 'onGone' | 'offGone'>
}

/** `totalEstimated` is the header that marks the total of a list as an estimate, and `hooks` is `hooksHeader`. */
interface BufferedReply extends UpstreamReply {
  totalEstimated: string
  hooks: string
}

type HeaderRecord = Record<string, string | string[] | undefined>

class ReplyCollector implements Dispatcher.DispatchHandler {
  readonly #maxReplyBytes: number
  readonly #resolve: (reply: BufferedReply) => void
  readonly #reject: (error: Error) => void
  readonly #timer: Timer
  readonly #isCommand: boolean
  readonly #client: ReplyLimits['client']
  readonly #chunks: Buffer[] = []
  #size = 0
  #status = 0
  #contentType = ''
  #retryAfter = ''
  #rateLimitPolicy = ''
  #fields = ''
  #totalEstimated = ''
  #hooks = ''
  #controller: Dispatcher.DispatchController | null = null
  #error: Error | null = null
  #isSettled = false

  constructor(
    request: { method: string },
    { maxReplyBytes, durations, remainingMs, client }: ReplyLimits,
    resolve: (reply: BufferedReply) => void,
    reject: (error: Error) => void,
  ) {
    this.#maxReplyBytes = maxReplyBytes
    this.#resolve = resolve
    this.#reject = reject
    this.#timer = durations.after(Math.max(0, remainingMs), this.#onDeadline)
    this.#isCommand = isCommand(request)
    this.#client = client
    client?.onGone(this.#abandon)
  }

  readonly #abandon = (): void => {
    if (!this.#controller || !this.#isCommand) this.#fail(clientDisconnected())
  }

  /**
   * If this process was busy, the reply may be in the socket's buffer, so read once more. A request that was not sent
   * yet has no reply, and must not be sent after its deadline.
   */
  readonly #onDeadline = (): void => {
    if (this.#controller) setImmediate(this.#timeOut)
    else this.#timeOut()
  }

  readonly #timeOut = (): void => {
    if (!this.#isSettled) this.#fail(upstreamTimeout('total deadline'))
  }

  #settle(): void {
    this.#timer.close()
    this.#client?.offGone(this.#abandon)
    this.#isSettled = true
  }

  #fail(error: Error): void {
    this.#settle()
    this.#error = error
    this.#reject(error)
    // Without the abort, the rest of this reply would be read as the next reply.
    this.#controller?.abort(error)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // The deadline passed or the client disconnected while the request waited for a connection.
    if (this.#error) controller.abort(this.#error)
  }

  onRequestUpgrade(_controller: unknown, _status: number, _headers: HeaderRecord, socket: Duplex): void {
    socket.destroy()
    this.#fail(invalidReply('an upgrade'))
  }

  onResponseStart(_controller: unknown, status: number, headers: HeaderRecord): void {
    if (status >= 100 && status < 200) {
      if (status === 101) this.#fail(invalidReply('an upgrade'))
      return
    }
    this.#status = status
    this.#contentType = textOf(headers['content-type'])
    this.#retryAfter = toSeconds(textOf(headers['retry-after']), textOf(headers.date))
    this.#rateLimitPolicy = textOf(headers['ratelimit-policy'])
    this.#fields = textOf(headers['x-portico-fields'])
    this.#totalEstimated = textOf(headers['x-total-estimated'])
    this.#hooks = textOf(headers[hooksHeader])
    const error = findHeadError({ status, retryAfter: this.#retryAfter }, headers, this.#maxReplyBytes)
    if (error) this.#fail(error)
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    this.#size += chunk.length
    if (this.#size > this.#maxReplyBytes) this.#fail(replyTooLong('reply'))
    else this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    this.#settle()
    const [first] = this.#chunks
    this.#resolve({
      status: this.#status,
      contentType: this.#contentType,
      retryAfter: this.#retryAfter,
      rateLimitPolicy: this.#rateLimitPolicy,
      fields: this.#fields,
      totalEstimated: this.#totalEstimated,
      hooks: this.#hooks,
      bytes: this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks),
    })
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#settle()
    this.#reject(this.#status === 0 ? error : brokenReply('reply broke off', error))
  }
}

/** Uses undici's dispatch directly, because undici's promises and streams would double the cost of a request. */
export function sendRequest(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  limits: ReplyLimits,
): Promise<BufferedReply> {
  return new Promise((resolve, reject) => {
    const collector = new ReplyCollector(request, limits, resolve, reject)
    try {
      dispatcher.dispatch(request, collector)
    } catch (error) {
      collector.onResponseError(null, error instanceof Error ? error : new Error('dispatch', { cause: error }))
    }
  })
}

function textOf(value: string | string[] | undefined): string {
  return Array.isArray(value) ? value.join(', ') : (value ?? '')
}

/** The refusal of a reply whose body is not read. */
function findHeadError(
  head: Pick<UpstreamReply, 'status' | 'retryAfter'>,
  headers: HeaderRecord,
  maxReplyBytes: number,
): Refusal | undefined {
  if (!isIdentityEncoding(textOf(headers['content-encoding']))) return unexpectedReply(head, 'content encoding')
  return Number(textOf(headers['content-length'])) > maxReplyBytes ? replyTooLong('reply') : undefined
}
