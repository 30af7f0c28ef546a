import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type Client, clientDisconnected } from '../pipeline/call.ts'

/** Pipelined requests per connection that wait for an earlier response. */
const maxPipelined = 16
/** How long to keep reading an unread body after the response. */
const maxLingerMs = 2_000

const closingSockets = new WeakSet<Socket>()
const pipelinedRequests = new WeakMap<Socket, number>()

export function closeAfterResponse({ socket }: IncomingMessage, response: ServerResponse): void {
  response.shouldKeepAlive = false
  closingSockets.add(socket)
}

/**
 * Node still emits a request after the last response. Nobody would receive its response. After ambiguous framing, it
 * may not be a request at all (RFC 9112, 9.6).
 */
export function isAfterLastResponse({ socket }: IncomingMessage): boolean {
  return closingSockets.has(socket)
}

export function hasUnreadBody({ headers, complete }: IncomingMessage): boolean {
  return !complete && (headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0')
}

/** Creates the signal only for requests that need it. */
export class ClientConnection implements Client {
  readonly #socket: Socket
  #disconnected: AbortController | undefined
  #abort: (() => void) | undefined

  constructor(socket: Socket) {
    this.#socket = socket
  }

  get isGone(): boolean {
    return this.#socket.destroyed
  }

  get signal(): AbortSignal {
    if (this.#disconnected) return this.#disconnected.signal
    const disconnected = new AbortController()
    this.#disconnected = disconnected
    this.#abort = () => disconnected.abort(clientDisconnected())
    if (this.isGone) this.#abort()
    // Each pipelined request adds a listener.
    else this.#socket.setMaxListeners(0).once('close', this.#abort)
    return disconnected.signal
  }

  onGone(listener: () => void): void {
    this.#socket.setMaxListeners(0).on('close', listener)
  }

  offGone(listener: () => void): void {
    this.#socket.off('close', listener)
  }

  /** A connection outlives its requests. */
  release(): void {
    if (this.#abort) this.#socket.off('close', this.#abort)
  }
}

/** Watches a socket without an HTTP parser. Does not consume its bytes. */
export function watchDisconnect(socket: Socket): Client {
  const disconnected = new AbortController()
  const { signal } = disconnected
  const abort = (): void => disconnected.abort(clientDisconnected())
  // A read of no bytes makes an idle socket notice its end.
  const probe = (): void => void socket.read(0)
  socket.on('readable', probe).once('end', abort).once('close', abort)
  return {
    signal,
    onGone: (listener) => signal.addEventListener('abort', listener),
    offGone: (listener) => signal.removeEventListener('abort', listener),
    get isGone() {
      return signal.aborted
    },
  }
}

/** Closes our side now, and the other side when the client closes it, or after maxLingerMs. */
export function closeGently(socket: Socket): void {
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
export function closeIfBodyUnread(request: IncomingMessage, response: ServerResponse): void {
  if (!hasUnreadBody(request)) return
  closeAfterResponse(request, response)
  closeInTwoSteps(request)
}

/** Node emits every request of a packet immediately and buffers the responses, which the client may never read. */
export function isPipelineFull({ socket }: IncomingMessage, response: ServerResponse): boolean {
  // Of several pipelined responses, only the next one has a socket.
  if (response.socket) return false
  const count = (pipelinedRequests.get(socket) ?? 0) + 1
  pipelinedRequests.set(socket, count)
  response.once('close', () => pipelinedRequests.set(socket, (pipelinedRequests.get(socket) ?? 1) - 1))
  return count >= maxPipelined
}

/**
 * Closes our side after the response, and the other side after the rest of the body, or after `maxLingerMs`. Closing
 * both while the client still writes would reset the connection, and a proxy would report a failed upstream (RFC 9112,
 * 9.6).
 */
function closeInTwoSteps(request: IncomingMessage): void {
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
