import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Pipelined requests per connection that wait for an earlier response. */
const maxPipelined = 16
/** How long to keep reading an unread body after the response. */
const maxLingerMs = 2_000

const closingSockets = new WeakSet<Socket>()
const pipelinedRequests = new WeakMap<Socket, number>()

export const closeAfterResponse = ({ socket }: IncomingMessage, response: ServerResponse): void => {
  response.shouldKeepAlive = false
  closingSockets.add(socket)
}

/**
 * Node still emits a request after the last response. Nobody would receive its response. After ambiguous framing, it
 * may not be a request at all (RFC 9112, 9.6).
 */
export const isAfterLastResponse = ({ socket }: IncomingMessage): boolean => closingSockets.has(socket)

export const hasUnreadBody = ({ headers, complete }: IncomingMessage): boolean =>
  !complete && (headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0')

/**
 * Closes our side after the response, and the other side after the rest of the body, or after `maxLingerMs`. Closing
 * both while the client still writes would reset the connection, and a proxy would report a failed upstream (RFC 9112,
 * 9.6).
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

/** Does not consume bytes of the socket. */
export const watchDisconnect = (socket: Socket): AbortSignal => {
  const disconnected = new AbortController()
  const abort = (): void => disconnected.abort()
  // A read of no bytes makes an idle socket notice its end.
  const probe = (): void => void socket.read(0)
  socket.on('readable', probe).once('end', abort).once('close', abort)
  return disconnected.signal
}

/** Closes our side now, and the other side when the client closes it, or after maxLingerMs. */
export const closeGently = (socket: Socket): void => {
  const timer = setTimeout(() => socket.destroy(), maxLingerMs)
  socket
    .removeAllListeners('readable')
    .once('close', () => clearTimeout(timer))
    .once('end', () => socket.destroy())
    .resume()
    .end()
}

/**
 * Some proxies, such as HAProxy 2.6 for HTTP/2 clients, drop the rest of a rejected body and reuse the connection. We
 * would then read another client's request as the rest of that body.
 */
export const closeIfBodyUnread = (request: IncomingMessage, response: ServerResponse): void => {
  if (!hasUnreadBody(request)) return
  closeAfterResponse(request, response)
  closeInTwoSteps(request)
}

/** Node emits every request of a packet immediately and buffers the responses, which the client may never read. */
export const isPipelineFull = ({ socket }: IncomingMessage, response: ServerResponse): boolean => {
  // Of several pipelined responses, only the next one has a socket.
  if (response.socket) return false
  const count = (pipelinedRequests.get(socket) ?? 0) + 1
  pipelinedRequests.set(socket, count)
  response.once('close', () => pipelinedRequests.set(socket, (pipelinedRequests.get(socket) ?? 1) - 1))
  return count >= maxPipelined
}
