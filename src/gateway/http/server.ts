import type { Server } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Express } from 'express'
import type { Configuration } from '../../config/index.ts'
import { createMessageClasses, type IncomingMessage, type ServerResponse } from '../../platform/runtime/index.ts'
import { closeAfterResponse, isAfterLastResponse, isPipelineFull } from './connection.ts'
import {
  findFramingError,
  minimalHeaderLines,
  minimalHeaders,
  type ParseError,
  ParseErrorServer,
} from './parse-errors.ts'

export interface UpgradeHandler {
  /** Other requests are ordinary ones, whose Upgrade is ignored. */
  accepts(request: IncomingMessage): boolean
  /** Takes the connection over. `head` are the bytes that the client has already sent after the request. */
  handle(request: IncomingMessage, socket: Socket, head: Buffer): void
}

export interface HttpServerParts {
  app: Express
  upgrades: UpgradeHandler | null
  settings: Configuration['requests']
  maxHeaders?: number
  /** Below this path, any Host is accepted. */
  anyHostPrefix?: string
  isDraining: () => boolean
  /** Whether `runtime.tuning` is on. */
  isTuned: boolean
  onParseError: (error: ParseError) => void
}

/** Browsers and edges send about 40 header fields. */
const defaultMaxHeaders = 100

const emptyResponseHeaders = { ...minimalHeaders, 'Content-Length': '0' }

export function createHttpServer(parts: HttpServerParts): Server {
  const { app, upgrades, settings, maxHeaders = defaultMaxHeaders, anyHostPrefix, isDraining, isTuned } = parts
  const accepts = (request: IncomingMessage): boolean =>
    upgrades !== null &&
    !isAfterLastResponse(request) &&
    findFramingError(request, maxHeaders) === undefined &&
    upgrades.accepts(request)
  const server = new ParseErrorServer(
    {
      ...(isTuned && createMessageClasses(app)),
      maxHeaderSize: 16 * 1024,
      headersTimeout: settings.headersTimeoutMs,
      requestTimeout: settings.uploadTimeoutMs,
      connectionsCheckingInterval: 1_000,
      // Longer than the keep-alive time of common edges (nginx 60 s, Caddy 120 s, Google's load balancers 600 s). If we
      // closed first, a command on its way from the edge would get a 502.
      keepAliveTimeout: 620_000,
      // findFramingError checks this, because Node does not report the rejected request.
      requireHostHeader: false,
      insecureHTTPParser: false,
      rejectNonStandardBodyWrites: false,
      shouldUpgradeCallback: accepts,
    },
    parts.onParseError,
  )
  server.on('request', (request, response) => {
    if (isAfterLastResponse(request)) return
    response.on('timeout', destroyIfStalled)
    const error = findFramingError(request, maxHeaders, anyHostPrefix)
    // `Connection: close` sends the client's next request to another replica.
    if (isDraining() || isPipelineFull(request, response)) closeAfterResponse(request, response)
    if (error) reject(parts, request, response, error)
    else app(request, response)
  })
  // By default Node drops all headers after the first 2,000 without an error.
  server.maxHeadersCount = 0
  // Node closes an idle socket unless its response handles 'timeout'. By default it has no maximum idle time.
  server.timeout = settings.downloadStallMs
  if (upgrades) serveUpgrades(server, { accepts, handle: upgrades.handle })
  server.on('connect', (request, socket) => rejectConnect(parts, request, socket))
  server.on('checkExpectation', (request, response) => reject(parts, request, response, [417, 'Expect']))
  return server
}

/** With an empty write buffer, the client may be waiting for us. */
function destroyIfStalled(socket: Socket): void {
  if (socket.writableLength > 0) socket.destroy()
}

/** The response has no envelope and contains no part of the request. */
function reject(
  { onParseError }: HttpServerParts,
  request: IncomingMessage,
  response: ServerResponse,
  [status, reason]: [status: number, reason: string],
): void {
  onParseError({ status, reason, peer: request.socket.remoteAddress })
  closeAfterResponse(request, response)
  response.writeHead(status, emptyResponseHeaders).end()
}

/** Node hands over only well-formed requests that are not pipelined behind the last one of their connection. */
function serveUpgrades(server: Server, { accepts, handle }: UpgradeHandler): void {
  server.on('upgrade', (request, socket, head) => {
    // Without a listener, an error of the socket would end the process.
    socket.on('error', () => undefined)
    // Node before 24.9 does not ask before it upgrades.
    if (socket instanceof Socket && accepts(request)) handle(request, socket, head)
    else socket.destroy()
  })
}

/** Node leaves the socket to this listener. Unhandled errors would end the process. */
function rejectConnect({ onParseError }: HttpServerParts, request: IncomingMessage, socket: Duplex): void {
  onParseError({ status: 405, reason: 'CONNECT', peer: request.socket.remoteAddress })
  socket.on('error', () => undefined)
  const head = `HTTP/1.1 405 Method Not Allowed\r\nAllow:\r\n${minimalHeaderLines}Connection: close\r\nContent-Length: 0\r\n\r\n`
  socket.end(head, () => socket.destroy())
}
