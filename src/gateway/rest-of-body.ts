import type { IncomingMessage } from 'node:http'

const mostBytes = 2 * 1024 * 1024
const longestMs = 2_000

/**
 * Reads away what is left of a refused body where no more than a little is announced: a socket that is closed over bytes
 * under way takes the answer with it (RFC 9112, 9.6). False for what is not waited for.
 */
export const readAway = (request: IncomingMessage): boolean => {
  const length = request.headers['content-length']
  if (request.destroyed || length === undefined || Number(length) > mostBytes) return false
  const timer = setTimeout(() => request.socket.destroy(), longestMs)
  request.once('close', () => clearTimeout(timer)).resume()
  return true
}

/**
 * Ends the connection of a request whose rest is not read away, with its last answer: our half at once, the other one when
 * the rest has come, and soon in any case. Closed in both directions, the socket resets what is still being written to it,
 * and a proxy that writes takes that for an upstream that failed (RFC 9112, 9.6).
 */
export const endInHalves = (request: IncomingMessage): void => {
  const { socket } = request
  const endWhole = socket.destroySoon.bind(socket)
  // What Node calls when the last answer of a connection is written.
  socket.destroySoon = () => {
    const timer = setTimeout(() => socket.destroy(), longestMs)
    socket.once('close', () => clearTimeout(timer)).end()
    if (request.readableEnded) endWhole()
    else request.once('end', endWhole).resume()
  }
}
