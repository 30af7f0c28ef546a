import type { Socket } from 'node:net'
import { Counter, Gauge, type Registry } from 'prom-client'

export interface StreamMetrics {
  changeOpen(operation: string, change: 1 | -1): void
  countEnd(operation: string, reason: string): void
}

export function createStreamMetrics(registry: Registry): StreamMetrics {
  const registers = [registry]
  const open = new Gauge({
    name: 'portico_open_streams',
    aggregator: 'sum',
    help: 'Open event streams and WebSockets by operation',
    labelNames: ['operation'],
    registers,
  })
  const ended = new Counter({
    name: 'portico_streams_ended_total',
    help: 'Event streams and WebSockets that ended, by operation and reason',
    labelNames: ['operation', 'reason'],
    registers,
  })
  return {
    changeOpen: (operation, change) => open.inc({ operation }, change),
    countEnd: (operation, reason) => ended.inc({ operation, reason }),
  }
}

export function createSocketMetrics(
  registry: Registry,
): (operation: string, bytes: { received: number; sent: number }) => void {
  const counter = new Counter({
    name: 'portico_socket_bytes_total',
    help: 'Bytes from and to the clients of WebSockets that have closed, by operation and direction',
    labelNames: ['operation', 'direction'],
    registers: [registry],
  })
  return (operation, { received, sent }) => {
    counter.inc({ operation, direction: 'received' }, received)
    counter.inc({ operation, direction: 'sent' }, sent)
  }
}

/** The returned function counts all bytes of a connection, also of a download or WebSocket that is still open. */
export function createTrafficMetrics(registry: Registry): (socket: Socket) => void {
  const open = new Set<Socket>()
  const total = { received: 0, sent: 0 }
  const add = (sum: typeof total, { bytesRead, bytesWritten }: Socket): typeof total => ({
    received: sum.received + bytesRead,
    sent: sum.sent + bytesWritten,
  })
  let closed = total
  new Counter({
    name: 'portico_http_bytes_total',
    help: 'Bytes of the connections to the portal listener, by direction',
    labelNames: ['direction'],
    registers: [registry],
    collect() {
      const { received, sent } = [...open].reduce(add, closed)
      this.reset()
      this.inc({ direction: 'received' }, received)
      this.inc({ direction: 'sent' }, sent)
    },
  })
  return (socket) => {
    open.add(socket)
    socket.once('close', () => {
      open.delete(socket)
      closed = add(closed, socket)
    })
  }
}
