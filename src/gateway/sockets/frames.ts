/** RFC 6455, section 5.2. */
const closeOpcode = 8
const opcodeBits = 0x0f
const maskBit = 0x80
const lengthBits = 0x7f
const finalBit = 0x80

/** IANA WebSocket Close Code Number Registry. */
export const closeCodes = { goingAway: 1001, policyViolation: 1008, internalError: 1011, tryAgainLater: 1013 } as const

/** The reason has at most 123 bytes. */
export function closeFrame(code: number, reason: string): Buffer {
  const text = Buffer.from(reason)
  const head = Buffer.from([finalBit | closeOpcode, 2 + text.length, code >> 8, code & 0xff])
  return Buffer.concat([head, text])
}

/** The extended length takes 8 bytes, and the mask takes 4. */
const maxHeaderSize = 14

/** Follows the server's frames, so that the gateway can add a frame between two of them. */
export class FrameTracker {
  readonly #header = Buffer.alloc(maxHeaderSize)
  #headerBytes = 0
  #payloadLeft = 0
  #hasClosed = false

  /** False inside a frame, and after a close frame of the server. */
  get acceptsClose(): boolean {
    return this.#headerBytes === 0 && this.#payloadLeft === 0 && !this.#hasClosed
  }

  push(chunk: Uint8Array): void {
    let at = 0
    while (at < chunk.length) {
      if (this.#payloadLeft > 0) {
        const skipped = Math.min(this.#payloadLeft, chunk.length - at)
        this.#payloadLeft -= skipped
        at += skipped
      } else {
        this.#header[this.#headerBytes] = chunk[at] ?? 0
        this.#headerBytes += 1
        at += 1
        this.#finishHeader()
      }
    }
  }

  #finishHeader(): void {
    if (this.#headerBytes < 2 || this.#headerBytes < headerSize(this.#header.readUInt8(1))) return
    if ((this.#header.readUInt8(0) & opcodeBits) === closeOpcode) this.#hasClosed = true
    this.#payloadLeft = payloadSize(this.#header)
    this.#headerBytes = 0
  }
}

function headerSize(second: number): number {
  const length = second & lengthBits
  const extended = length === 127 ? 8 : length === 126 ? 2 : 0
  return 2 + extended + ((second & maskBit) === 0 ? 0 : 4)
}

function payloadSize(header: Buffer): number {
  const length = header.readUInt8(1) & lengthBits
  if (length === 126) return header.readUInt16BE(2)
  return length === 127 ? Number(header.readBigUInt64BE(2)) : length
}
