import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'

export interface RawUpstream {
  url: string
  /** One item per data event. */
  received: string[]
  requests(): number
  close(): Promise<void>
}

export type Behaviour = (socket: Socket, request: string) => void

/** The upstream can violate HTTP. */
export async function startRawUpstream(behave: Behaviour): Promise<RawUpstream> {
  const received: string[] = []
  const sockets = new Set<Socket>()
  let count = 0
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    socket.on('data', (chunk) => {
      const text = chunk.toString('latin1')
      received.push(text)
      if (/^(GET|POST) /.test(text)) {
        count += 1
        behave(socket, text)
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('no address')
  return {
    url: `http://127.0.0.1:${address.port}`,
    received,
    requests: () => count,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

export function rawResponse(status: string, headers: Record<string, string>, body: string): string {
  const fields = { 'content-length': String(Buffer.byteLength(body)), ...headers }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status}\r\n${lines.join('')}\r\n${body}`
}

export function json(value: unknown, status = '200 OK', headers: Record<string, string> = {}): string {
  return rawResponse(status, { 'content-type': 'application/json', ...headers }, JSON.stringify(value))
}
