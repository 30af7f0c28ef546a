import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

const ended = new WeakSet<Socket>()

/** Makes the answer to a request the last of its connection. */
export const answerLast = ({ socket }: IncomingMessage, response: ServerResponse): void => {
  response.shouldKeepAlive = false
  ended.add(socket)
}

/**
 * Whether a request came behind one whose answer is the last. Node reads on, and would have it served; but nobody gets its
 * answer, and behind a request of doubtful framing it may be no request at all (RFC 9112, 9.6).
 */
export const isBehindLast = ({ socket }: IncomingMessage): boolean => ended.has(socket)
