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
 * receive its response. If the framing of the earlier request is doubtful, it may not be a request at all (RFC 9112,
 * 9.6).
 */
export const isAfterLastResponse = ({ socket }: IncomingMessage): boolean => closingSockets.has(socket)

/** Whether the request announced a body that has not been received completely. */
export const hasUnreadBody = ({ headers, complete }: IncomingMessage): boolean =>
  !complete && (headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0')

/**
 * Closes the connection in two steps. Our side is closed as soon as the response is sent. The other side is closed once
 * the rest of the body has been read, or after `maxLingerMs`. If both sides were closed while the client still writes,
 * the connection would be reset, and a proxy would report a failed upstream (RFC 9112, 9.6).
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
 * Closes the connection after this response if the request body has not been read. Some proxies, such as HAProxy 2.6
 * for HTTP/2 clients, drop the rest of a rejected body and reuse the connection. Without closing, we would read another
 * client's request as the rest of that body.
 */
export const closeIfBodyUnread = (request: IncomingMessage, response: ServerResponse): void => {
  if (!hasUnreadBody(request)) return
  closeAfterResponse(request, response)
  closeInTwoSteps(request)
}

/**
 * Counts a pipelined request and returns whether its connection has reached the limit. Node emits every request of a
 * packet immediately and buffers the responses, and the client may never read them.
 */
export const isPipelineFull = ({ socket }: IncomingMessage, response: ServerResponse): boolean => {
  // Of several pipelined responses, only the next one to be sent has a socket.
  if (response.socket) return false
  const count = (pipelinedRequests.get(socket) ?? 0) + 1
  pipelinedRequests.set(socket, count)
  response.once('close', () => pipelinedRequests.set(socket, (pipelinedRequests.get(socket) ?? 1) - 1))
  return count >= maxPipelined
}
