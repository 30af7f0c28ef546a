import type { Socket } from 'node:net'
import { errorCode } from '../../kernel/index.ts'

/** A whole interim response, with one form of line end and well-formed fields only (RFC 9112, 2 to 5). */
const interimPattern =
  /^HTTP\/1\.1 1(?!01)\d\d(?: [\t -~\x80-\xff]*)?\r\n(?:[\w!#$%&'*+.^`|~-]+:[\t -~\x80-\xff]*\r\n)*\r\n/
const interimStart = 'HTTP/1.1 1'
const headEnd = '\r\n\r\n'
const maxInterimBytes = 4_096
const nothing = Buffer.alloc(0)

/** Corrects two readings of undici. Call it before undici listens to the socket. */
export function correctReplies(socket: Socket): void {
  skipInterim(socket)
  // undici takes a reset for the end of a reply without a length, so that part of a reply would count as the whole.
  socket.on('error', (error) => {
    if (errorCode(error) === 'ECONNRESET') Object.assign(error, { code: 'UND_ERR_SOCKET' })
  })
}

/**
 * undici fails on a 100 (Continue), although a client must be able to read one that it did not ask for (RFC 9110,
 * 15.2). Malformed ones, and a 101, are left to undici's parser.
 */
function skipInterim(socket: Socket): void {
  const read = socket.read.bind(socket)
  let held: Buffer = nothing
  let written = 0
  let isBeforeHead = false
  socket.read = (size?: number): unknown => {
    const chunk: unknown = read(size)
    // Written bytes are the next request: a connection has one request at a time.
    if (written !== socket.bytesWritten) isBeforeHead = true
    written = socket.bytesWritten
    if (!isBeforeHead || !Buffer.isBuffer(chunk)) return chunk
    const head = withoutInterim(held.length === 0 ? chunk : Buffer.concat([held, chunk]))
    isBeforeHead = isPartOfInterim(head)
    held = isBeforeHead ? head : nothing
    return isBeforeHead ? null : head
  }
}

function withoutInterim(bytes: Buffer): Buffer {
  let rest = bytes
  while (startsInterim(rest)) {
    const [head] = interimPattern.exec(rest.toString('latin1', 0, maxInterimBytes)) ?? []
    if (head === undefined) break
    rest = rest.subarray(head.length)
  }
  return rest
}

/** Whether more bytes are needed. */
function isPartOfInterim(bytes: Buffer): boolean {
  return startsInterim(bytes) && bytes.length < maxInterimBytes && !bytes.includes(headEnd)
}

function startsInterim(bytes: Buffer): boolean {
  return interimStart.startsWith(bytes.toString('latin1', 0, interimStart.length))
}
