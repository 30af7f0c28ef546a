import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

const mostWaiting = 16

const waiting = new WeakMap<Socket, number>()

/**
 * Whether as many requests of the connection as may wait for their turn are now waiting. Node has all that one packet
 * holds served at once, and keeps their answers: two hundred of them, which a client need never take.
 */
export const isLastThatMayWait = ({ socket }: IncomingMessage, response: ServerResponse): boolean => {
  // Whose turn it is has the socket.
  if (response.socket) return false
  const count = (waiting.get(socket) ?? 0) + 1
  waiting.set(socket, count)
  response.once('close', () => waiting.set(socket, (waiting.get(socket) ?? 1) - 1))
  return count >= mostWaiting
}
