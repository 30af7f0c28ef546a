import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** Node raises the soft limit to the hard one when it starts. */
function maxOpenFiles(): number {
  const report = process.report.getReport()
  const limits: unknown = 'userLimits' in report ? report.userLimits : undefined
  const files: unknown = limits && typeof limits === 'object' && 'open_files' in limits ? limits.open_files : undefined
  const hard: unknown = files && typeof files === 'object' && 'hard' in files ? files.hard : undefined
  return typeof hard === 'number' ? hard : Number.POSITIVE_INFINITY
}

const filesOfProcess = 500

/** The client and the gateway inherit the same limit. A stream takes `filesEach` in the gateway. */
export function assertOpenFiles(connections: number, filesEach = 1): void {
  const limit = maxOpenFiles()
  if (limit < connections * filesEach + filesOfProcess)
    throw new RangeError(`${connections} connections need a higher limit on open files than ${limit}: ulimit -Hn`)
}

export interface OpenSocket {
  isOpen(): boolean
  /** Number of received chunks. */
  received(): number
  close(): void
}

function statusIn(text: string): string {
  return text.slice(9, 12)
}

/** Sends one request and waits for the start of its response. */
export async function openSocket(url: string, path: string, headers: Record<string, string>): Promise<OpenSocket> {
  const { hostname, port, host } = new URL(url)
  const socket: Socket = connect({ host: hostname, port: Number(port), noDelay: true })
  // A reset shows in `isOpen`.
  socket.on('error', () => undefined)
  let chunks = 0
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\n${fields.join('')}\r\n`)
  const [head]: Buffer[] = await once(socket, 'data', { signal: AbortSignal.timeout(30_000) })
  const text = head?.toString('latin1') ?? ''
  if (statusIn(text) !== '200') throw new Error(`${path}: ${text.slice(-600)}`)
  socket.on('data', () => {
    chunks += 1
  })
  return {
    isOpen: () => !socket.destroyed && socket.readyState === 'open',
    received: () => chunks,
    // Avoids thousands of sockets in TIME_WAIT.
    close: () => void socket.resetAndDestroy(),
  }
}

/** Opens a few in parallel, so that the queue of the listener does not overflow. */
export async function openSockets<T>(count: number, open: (index: number) => Promise<T>): Promise<T[]> {
  const sockets: T[] = []
  let next = 0
  const loop = async (): Promise<void> => {
    while (next < count) sockets.push(await open(next++))
  }
  await Promise.all(Array.from({ length: 16 }, loop))
  return sockets
}

export function assertOpen(sockets: readonly OpenSocket[]): void {
  const open = sockets.filter((each) => each.isOpen()).length
  if (open < sockets.length) throw new Error(`${sockets.length - open} of ${sockets.length} connections were closed`)
}
