import type { IncomingMessage, ServerResponse } from 'node:http'
import { answerLast } from './last-answer.ts'

const longestMs = 2_000

/** Whether a body was announced that is not at its end. */
export const isUnderWay = ({ headers, complete }: IncomingMessage): boolean =>
  !complete && (headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0')

/**
 * Ends the connection with its last answer: our half at once, the other one when the rest of the body has come, and soon in
 * any case. Closed in both directions, the socket resets what is still being written to it, and a proxy that writes takes
 * that for an upstream that failed (RFC 9112, 9.6).
 */
const endInHalves = (request: IncomingMessage): void => {
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

/**
 * Makes an answer that comes before the end of the body the last of its connection. A proxy that leaves the rest of a
 * refused body out, and goes on with the connection, would have us take somebody else's request for that rest, and what lies
 * behind it for a request (HAProxy 2.6 does so where browsers speak HTTP/2 with it).
 */
export const answerOverRest = (request: IncomingMessage, response: ServerResponse): void => {
  if (!isUnderWay(request)) return
  answerLast(request, response)
  endInHalves(request)
}
