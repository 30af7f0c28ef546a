import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Express } from 'express'
import type { Configuration } from '../config/index.ts'
import { answerLast, isBehindLast } from './last-answer.ts'
import { leastFields, leastLines, type Malformed, WatchedServer } from './malformed.ts'
import { messagesOf } from './messages.ts'
import { isLastThatMayWait } from './pipelined.ts'

const repeats = (raw: readonly string[], name: string): boolean => {
  let count = 0
  for (let index = 0; index < raw.length; index += 2) {
    const each = raw[index]
    // Most names differ in their length already.
    if (each?.length === name.length && each.toLowerCase() === name) count += 1
  }
  return count > 1
}

/** A name or an address, and a port (RFC 9110, 7.2). What else the grammar of a URI has room for names no host of ours. */
const hostField = /^(?:[\w.~-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i

/** What Node's parser lets pass and we do not: RFC 9112 sections 2.3, 3.2 and 6. */
const flaw = (request: IncomingMessage, maxHeaders: number): [status: number, reason: string] | undefined => {
  if (request.httpVersion !== '1.1' && request.httpVersion !== '1.0') return [505, 'HTTP version']
  if (request.rawHeaders.length / 2 > maxHeaders) return [431, 'number of headers']
  const { host } = request.headers
  if (host === undefined ? request.httpVersion === '1.1' : !hostField.test(host)) return [400, 'Host']
  if (repeats(request.rawHeaders, 'host')) return [400, 'two Hosts']
  const coding = request.headers['transfer-encoding']
  // HTTP/1.0 knows no chunks: whoever stood before us and speaks it has seen another end of this body than we would.
  if (coding !== undefined && (request.httpVersion === '1.0' || coding.toLowerCase() !== 'chunked'))
    return [400, 'Transfer-Encoding']
  const length = request.headers['content-length']
  if (coding !== undefined && length !== undefined) return [400, 'Transfer-Encoding beside Content-Length']
  if (length !== undefined && !/^\d{1,15}$/.test(length)) return [400, 'Content-Length']
  return request.url?.startsWith('/') ? undefined : [400, 'request target']
}

const bareAnswer = { ...leastFields, 'Content-Length': '0' }

/** A socket on which nothing moves may as well wait for us; one that holds what nobody takes is left. */
const leaveWhereStalled = (socket: Socket): void => {
  if (socket.writableLength > 0) socket.destroy()
}

export interface ListenerParts {
  app: Express
  settings: Configuration['requests']
  isDraining: () => boolean
  /** Hears of each request that is refused here, which nobody else does. */
  onMalformed: (malformed: Malformed) => void
}

/** The listener with its limits on sockets, heads and time; whatever is malformed never reaches the pipeline. */
export const guardServer = ({ app, settings, isDraining, onMalformed }: ListenerParts): Server => {
  /** Answers at the level of the parser, before any operation is known; no envelope, nothing of the request. */
  const refuse = (request: IncomingMessage, response: ServerResponse, status: number, reason: string): void => {
    onMalformed({ status, reason, peer: request.socket.remoteAddress })
    answerLast(request, response)
    response.writeHead(status, bareAnswer).end()
  }
  const server = new WatchedServer(
    {
      ...messagesOf(app),
      maxHeaderSize: 16 * 1024,
      headersTimeout: settings.headersTimeoutMs,
      requestTimeout: settings.uploadTimeoutMs,
      connectionsCheckingInterval: 1_000,
      // For longer than edges keep theirs (nginx: 60 s, Caddy: 120 s, Google's balancers: 600 s, which nobody can set): a
      // command on one that is just being closed is answered 502.
      keepAliveTimeout: 620_000,
      // Node's own refusal of a request without one tells nobody.
      requireHostHeader: false,
      insecureHTTPParser: false,
      rejectNonStandardBodyWrites: false,
    },
    onMalformed,
  )
  server.on('request', (request, response) => {
    if (isBehindLast(request)) return
    response.on('timeout', leaveWhereStalled)
    const flawed = flaw(request, settings.maxHeaders)
    // Whoever keeps connections is told to make the next one elsewhere.
    if (isDraining() || isLastThatMayWait(request, response)) answerLast(request, response)
    if (flawed) refuse(request, response, ...flawed)
    else app(request, response)
  })
  // Node keeps the first 2,000 fields and drops the rest in silence; the head's size bounds them, and they are counted.
  server.maxHeadersCount = 0
  // Of a socket on which nothing moves. Node's own is none, and it closes the socket where no answer listens for it.
  server.timeout = settings.downloadStallMs
  server.on('connect', (request, socket) => {
    onMalformed({ status: 405, reason: 'CONNECT', peer: request.socket.remoteAddress })
    // Node leaves this socket to whoever listens here: its errors, which would end the process, and its end.
    socket.on('error', () => undefined)
    const head = `HTTP/1.1 405 Method Not Allowed\r\nAllow:\r\n${leastLines}Connection: close\r\nContent-Length: 0\r\n\r\n`
    socket.end(head, () => socket.destroy())
  })
  server.on('checkExpectation', (request, response) => refuse(request, response, 417, 'Expect'))
  return server
}
