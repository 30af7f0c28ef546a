import type { IncomingMessage, ServerOptions, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Logger } from 'pino'
import { errorCode } from '../kernel/index.ts'
import { Server } from '../platform/runtime/index.ts'

/** A request that was refused at the level of the parser: it has no operation, no id, and no line among the requests. */
export interface Malformed {
  status: number
  /** What is wrong with it, in our words or by the code of Node's parser; nothing of the request itself. */
  reason: string
  /** Whoever holds the other end of the connection: the edge, where there is one. */
  peer: string | undefined
}

/** The statuses by which Node answers what its parser could not take. Whatever else ends a connection is no request. */
const statusOf = (code: string | undefined): number | undefined => {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 408
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return 413
  if (code === 'HPE_HEADER_OVERFLOW') return 431
  return code?.startsWith('HPE_') ? 400 : undefined
}

/** What every answer says, also one without a body (hardening.md, Baseline). */
export const leastFields = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' }

export const leastLines = Object.entries(leastFields)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('')

const statusLine = /^HTTP\/1\.1 4.*\r\n/

/** Once it has told of it Node writes its refusal as one text, the last of the connection; where an answer has begun, nothing. */
const completeRefusal = (socket: Socket): void => {
  const write = socket.write.bind(socket)
  socket.write = (text: Uint8Array | string) => write(String(text).replace(statusLine, `$&${leastLines}`))
}

/**
 * Node's server, which tells of what its parser refuses. Whoever listens to `clientError` has to answer in Node's place,
 * without knowing whether another answer has begun on that connection; heard of in passing, it is still Node's to answer.
 */
export class WatchedServer<
  Request extends typeof IncomingMessage,
  Response extends typeof ServerResponse<InstanceType<Request>>,
> extends Server<Request, Response> {
  readonly #tell: (malformed: Malformed) => void

  constructor(options: ServerOptions<Request, Response>, tell: (malformed: Malformed) => void) {
    super(options)
    this.#tell = tell
  }

  override emit(event: string | symbol, ...told: unknown[]): boolean {
    if (event === 'clientError') this.#parserRefused(told[0], told[1])
    return super.emit(event, ...told)
  }

  #parserRefused(error: unknown, socket: unknown): void {
    const reason = errorCode(error)
    const status = statusOf(reason)
    const from = socket instanceof Socket ? socket : null
    // Where our half has ended (rest-of-body.ts) the request is answered; that the other half breaks off is no other one.
    if (from?.writableEnded) return
    if (from) completeRefusal(from)
    if (reason && status) this.#tell({ status, reason, peer: from?.remoteAddress })
  }
}

/** A line and a count for each: nothing else tells of them. */
export const noteMalformed =
  (logger: Logger, count: (status: number) => void) =>
  (malformed: Malformed): void => {
    logger.info(malformed, 'request malformed')
    count(malformed.status)
  }
