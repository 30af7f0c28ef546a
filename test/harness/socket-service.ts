import { hash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** The payload has at most 65,535 bytes. */
export function frameOf(opcode: number, payload: Uint8Array, isMasked: boolean): Buffer {
  const mask = Buffer.alloc(isMasked ? 4 : 0, 7)
  const size = payload.length
  const maskBit = isMasked ? 0x80 : 0
  const head = size < 126 ? [0x80 | opcode, maskBit | size] : [0x80 | opcode, maskBit | 126, size >> 8, size & 0xff]
  const body = Buffer.from(payload.map((byte, at) => byte ^ (mask[at % 4] ?? 0)))
  return Buffer.concat([Buffer.from(head), mask, body])
}

export function readFrames(socket: Socket, onFrame: (opcode: number, payload: Buffer) => void): void {
  let received = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk])
    while (received.length >= 2) {
      const [first, second] = [received.readUInt8(0), received.readUInt8(1)]
      const isLong = (second & 0x7f) === 126
      const isMasked = (second & 0x80) !== 0
      const start = 2 + (isLong ? 2 : 0) + (isMasked ? 4 : 0)
      if (received.length < start) return
      const size = isLong ? received.readUInt16BE(2) : second & 0x7f
      if (received.length < start + size) return
      const mask = received.subarray(start - 4, start)
      const payload = received
        .subarray(start, start + size)
        .map((byte, at) => (isMasked ? byte ^ (mask[at % 4] ?? 0) : byte))
      received = received.subarray(start + size)
      onFrame(first & 0x0f, Buffer.from(payload))
    }
  })
}

export function acceptOf(key = ''): string {
  return hash('sha1', `${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`, 'base64')
}

export interface SocketService {
  url: string
  /** Oldest first. */
  handshakes: IncomingMessage[]
  /** Oldest first. */
  open: Socket[]
  /** Accepts or refuses the following handshakes. */
  respond: (request: IncomingMessage, socket: Socket) => void
  accept(request: IncomingMessage, socket: Socket, headers?: Record<string, string>): void
  close(): Promise<void>
}

/** Returns each message. After `close` it closes the socket, and after `die` it destroys it. */
export async function startSocketService(): Promise<SocketService> {
  const handshakes: IncomingMessage[] = []
  const open: Socket[] = []
  const all = new Set<Socket>()
  const accept = (request: IncomingMessage, socket: Socket, headers: Record<string, string> = {}): void => {
    const fields = {
      Upgrade: 'websocket',
      Connection: 'Upgrade',
      'Sec-WebSocket-Accept': acceptOf(request.headers['sec-websocket-key']),
      'Set-Cookie': 'leak=1',
      ...headers,
    }
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`)
    open.push(socket)
    // An upgraded socket stays half open unless its end is answered.
    socket.on('end', () => socket.end()).on('close', () => open.splice(open.indexOf(socket), 1))
    readFrames(socket, (opcode, payload) => {
      const text = payload.toString()
      if (text === 'die') socket.destroy()
      else if (opcode === 8) socket.end(frameOf(8, payload, false))
      else if (text === 'close') socket.write(frameOf(8, Buffer.from([0x0f, 0xa1, 0x6f, 0x6b]), false))
      else socket.write(frameOf(opcode === 9 ? 10 : opcode, payload, false))
    })
  }
  const service: SocketService = {
    url: '',
    handshakes,
    open,
    respond: accept,
    accept,
    close: async () => {
      for (const socket of all) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
  const server = createServer((request, response) => {
    handshakes.push(request)
    response.writeHead(200, { 'content-type': 'application/json' }).end('"1.00"')
  })
  server.on('connection', (socket) => {
    all.add(socket)
    socket.on('error', () => undefined).on('close', () => all.delete(socket))
  })
  server.on('upgrade', (request, socket: Socket) => {
    handshakes.push(request)
    service.respond(request, socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('no address')
  service.url = `http://127.0.0.1:${address.port}`
  return service
}
