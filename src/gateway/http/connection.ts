import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Maximum pipelined requests per connection that wait for an earlier response. */
const maxPipelined = 16
/** How long to keep reading an unread body after the response was sent. */
const maxLingerMs = 2_000

const closingSockets = new WeakSet<Socket>()
const pipelinedRequests = new WeakMap<Socket, number>()

/** Makes this response the last one of its connection. */
export const closeAfterResponse = ({ socket }: IncomingMessage, response: ServerResponse): void => {
  response.shouldKeepAlive = false
  closingSockets.add(socket)
}

/**
 * Whether a request follows one whose response closes the connection. Node still parses and emits it, but nobody would
 * receive its response, and after a request with doubtful framing it may not be a request at all (RFC 9112, 9.6).
 */
export const isAfterLastResponse = ({ socket }: IncomingMessage): boolean => closingSockets.has(socket)

/** Whether the request announced a body that has not been received completely. */
export const hasUnreadBody = ({ headers, complete }: IncomingMessage): boolean =>
  !complete && (headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0')

/**
 * Closes the connection in two steps: our side as soon as the response is sent, the other side once the rest of the body
 * has been read, or after `maxLingerMs`. Closing both sides while the client still writes would reset the connection, and
 * a proxy reports that as a failed upstream (RFC 9112, 9.6).
 */
const closeInTwoSteps = (request: IncomingMessage): void => {
  const { socket } = request
  const closeBothSides = socket.destroySoon.bind(socket)
  // Node calls this after the last response of a connection.
  socket.destroySoon = () => {
    const timer = setTimeout(() => socket.destroy(), maxLingerMs)
    socket.once('close', () => clearTimeout(timer)).end()
    if (request.readableEnded) closeBothSides()
    else request.once('end', closeBothSides).resume()
  }
}

/**
 * Closes the connection after this response if the request body has not been read. Some proxies drop the rest of a
 * rejected body and reuse the connection; we would then read another client's request as that rest (HAProxy 2.6 does so
 * for HTTP/2 clients).
 */
export const closeIfBodyUnread = (request: IncomingMessage, response: ServerResponse): void => {
  if (!hasUnreadBody(request)) return
  closeAfterResponse(request, response)
  closeInTwoSteps(request)
}

/**
 * Counts a pipelined request and returns whether its connection has reached the limit. Node emits every request of a
 * packet immediately and buffers their responses, which the client may never read.
 */
export const isPipelineFull = ({ socket }: IncomingMessage, response: ServerResponse): boolean => {
  // Only the response whose turn it is has a socket.
  if (response.socket) return false
  const count = (pipelinedRequests.get(socket) ?? 0) + 1
  pipelinedRequests.set(socket, count)
  response.once('close', () => pipelinedRequests.set(socket, (pipelinedRequests.get(socket) ?? 1) - 1))
  return count >= maxPipelined
}
