import type { IncomingMessage, ServerOptions, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Logger } from 'pino'
import { errorCode } from '../../kernel/index.ts'
import { Server } from '../../platform/runtime/index.ts'

/** Rejected before routing, so there is no operation, no request id and no line in the request log. */
export interface ParseError {
  status: number
  /** Never contains a part of the request. */
  reason: string
  /** Behind an edge, this is the address of the edge. */
  peer: string | undefined
}

/** For every response, including those without a body. */
export const minimalHeaders = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' }

/** `minimalHeaders` as raw header lines. */
export const minimalHeaderLines = Object.entries(minimalHeaders)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('')

const statusLine = /^HTTP\/1\.1 4.*\r\n/

/**
 * Reports the requests that Node's parser rejects. A `clientError` listener would have to send the response, without
 * knowing whether another has already begun. Intercepting `emit` leaves the response to Node.
 */
export class ParseErrorServer<
  Request extends typeof IncomingMessage,
  Response extends typeof ServerResponse<InstanceType<Request>>,
> extends Server<Request, Response> {
  readonly #onParseError: (error: ParseError) => void

  constructor(options: ServerOptions<Request, Response>, onParseError: (error: ParseError) => void) {
    super(options)
    this.#onParseError = onParseError
  }

  override emit(event: string | symbol, ...values: unknown[]): boolean {
    if (event === 'clientError') this.#report(values[0], values[1])
    return super.emit(event, ...values)
  }

  #report(error: unknown, other: unknown): void {
    const reason = errorCode(error)
    const status = statusOf(reason)
    const socket = other instanceof Socket ? other : null
    // Our side is closed, so this request already has its response (connection.ts).
    if (socket?.writableEnded) return
    if (socket) addMinimalHeaders(socket)
    if (reason && status) this.#onParseError({ status, reason, peer: socket?.remoteAddress })
  }
}

/** No other log contains parse errors. */
export function createParseErrorLog(logger: Logger, count: (status: number) => void): (error: ParseError) => void {
  return (error) => {
    logger.info(error, 'request malformed')
    count(error.status)
  }
}

/** Stricter than the grammar of a URI (RFC 9110, 7.2). */
const hostPattern = /^(?:[\w.~-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i

/**
 * Rejects heads that Node accepts (RFC 9112, 2.3, 3.2 and 6). Two parsers that interpret a request differently allow
 * request smuggling. Below `anyHostPrefix`, a Host needs no valid name.
 */
export function findFramingError(
  request: IncomingMessage,
  maxHeaders: number,
  anyHostPrefix?: string,
): [status: number, reason: string] | undefined {
  if (request.httpVersion !== '1.1' && request.httpVersion !== '1.0') return [505, 'HTTP version']
  if (request.rawHeaders.length / 2 > maxHeaders) return [431, 'number of headers']
  const { host } = request.headers
  const acceptsAnyHost = anyHostPrefix !== undefined && request.url?.startsWith(anyHostPrefix)
  if (host === undefined ? request.httpVersion === '1.1' : !acceptsAnyHost && !hostPattern.test(host))
    return [400, 'Host']
  if (isRepeated(request.rawHeaders, 'host')) return [400, 'two Hosts']
  const coding = request.headers['transfer-encoding']
  // HTTP/1.0 has no chunked encoding, so an HTTP/1.0 proxy in front of us would see a different end of this body.
  if (coding !== undefined && (request.httpVersion === '1.0' || coding.toLowerCase() !== 'chunked'))
    return [400, 'Transfer-Encoding']
  const length = request.headers['content-length']
  if (coding !== undefined && length !== undefined) return [400, 'Transfer-Encoding and Content-Length']
  if (length !== undefined && !/^\d{1,15}$/.test(length)) return [400, 'Content-Length']
  return request.url?.startsWith('/') ? undefined : [400, 'request target']
}

/** The status that Node sends. Other errors do not concern a request. */
function statusOf(code: string | undefined): number | undefined {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 408
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return 413
  if (code === 'HPE_HEADER_OVERFLOW') return 431
  return code?.startsWith('HPE_') ? 400 : undefined
}

/** Node writes the response after a clientError event as one string. */
function addMinimalHeaders(socket: Socket): void {
  const write = socket.write.bind(socket)
  socket.write = (text: Uint8Array | string) => write(String(text).replace(statusLine, `$&${minimalHeaderLines}`))
}

function isRepeated(rawHeaders: readonly string[], name: string): boolean {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const each = rawHeaders[index]
    if (each?.length === name.length && each.toLowerCase() === name) count += 1
  }
  return count > 1
}
