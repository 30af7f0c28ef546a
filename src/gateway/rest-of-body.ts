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
