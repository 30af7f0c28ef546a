import type { Server } from 'node:http'
import type { Socket } from 'node:net'
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

export interface HttpServerParts {
  app: Express
  settings: Configuration['requests']
  isDraining: () => boolean
  /** Whether `runtime.tuning` is on. */
  isTuned: boolean
  /** Called for every request that is rejected before it reaches the app. */
  onParseError: (error: ParseError) => void
}

const emptyResponseHeaders = { ...minimalHeaders, 'Content-Length': '0' }

/**
 * Destroys an idle socket whose client does not read. If the write buffer is empty, the client may be waiting for us,
 * so the socket stays.
 */
const destroyIfStalled = (socket: Socket): void => {
  if (socket.writableLength > 0) socket.destroy()
}

/** Rejects a request before it is routed. The response has no envelope and contains no part of the request. */
const reject = (
  { onParseError }: HttpServerParts,
  request: IncomingMessage,
  response: ServerResponse,
  [status, reason]: [status: number, reason: string],
): void => {
  onParseError({ status, reason, peer: request.socket.remoteAddress })
  closeAfterResponse(request, response)
  response.writeHead(status, emptyResponseHeaders).end()
}

/** Rejects CONNECT. Node leaves its socket to this listener, including errors, which would otherwise end the process. */
const rejectConnect = ({ onParseError }: HttpServerParts, request: IncomingMessage, socket: Duplex): void => {
  onParseError({ status: 405, reason: 'CONNECT', peer: request.socket.remoteAddress })
  socket.on('error', () => undefined)
  const head = `HTTP/1.1 405 Method Not Allowed\r\nAllow:\r\n${minimalHeaderLines}Connection: close\r\nContent-Length: 0\r\n\r\n`
  socket.end(head, () => socket.destroy())
}

/** Returns an HTTP server with limits on sockets, heads and time. Malformed requests never reach the app. */
export function createHttpServer(parts: HttpServerParts): Server {
  const { app, settings, isDraining, isTuned } = parts
  const server = new ParseErrorServer(
    {
      ...(isTuned && createMessageClasses(app)),
      maxHeaderSize: 16 * 1024,
      headersTimeout: settings.headersTimeoutMs,
      requestTimeout: settings.uploadTimeoutMs,
      connectionsCheckingInterval: 1_000,
      // Longer than the keep-alive time of common edges (nginx 60 s, Caddy 120 s, Google's load balancers 600 s). If we
      // closed a connection first, a command that the edge is just sending would get a 502.
      keepAliveTimeout: 620_000,
      // findFramingError checks the header, because Node's own check reports nothing.
      requireHostHeader: false,
      insecureHTTPParser: false,
      rejectNonStandardBodyWrites: false,
    },
    parts.onParseError,
  )
  server.on('request', (request, response) => {
    if (isAfterLastResponse(request)) return
    response.on('timeout', destroyIfStalled)
    const error = findFramingError(request, settings.maxHeaders)
    // `Connection: close` sends the client's next request to another replica.
    if (isDraining() || isPipelineFull(request, response)) closeAfterResponse(request, response)
    if (error) reject(parts, request, response, error)
    else app(request, response)
  })
  // By default Node drops all headers after the first 2,000 without an error. The size of the head and findFramingError
  // limit the headers.
  server.maxHeadersCount = 0
  // Idle time of a socket. Node sets none by default, and closes the socket unless the response handles 'timeout'.
  server.timeout = settings.downloadStallMs
  server.on('connect', (request, socket) => rejectConnect(parts, request, socket))
  server.on('checkExpectation', (request, response) => reject(parts, request, response, [417, 'Expect']))
  return server
}
