import type { Socket } from 'node:net'

interface Bytes {
  bytesReceived: number
  bytesSent: number
}

const counted = new WeakMap<Socket, Bytes>()

/**
 * Bytes of a connection since the previous call, with heads and framing: those of a request, at its end. Requests that a
 * client pipelines share their bytes unevenly.
 */
export function bytesOf(socket: Socket): Bytes {
  const total = { bytesReceived: socket.bytesRead, bytesSent: socket.bytesWritten }
  const before = counted.get(socket) ?? { bytesReceived: 0, bytesSent: 0 }
  counted.set(socket, total)
  return {
    bytesReceived: total.bytesReceived - before.bytesReceived,
    bytesSent: total.bytesSent - before.bytesSent,
  }
}
