import { randomUUID } from 'node:crypto'

export interface Part {
  name: string
  content: string | Uint8Array
  /** Strings are encoded as UTF-8. Bytes are sent unchanged. */
  fileName?: string | Uint8Array
  type?: string
}

/** Does not escape names. */
export function encodeMultipart(parts: readonly Part[]): { headers: { 'content-type': string }; body: Uint8Array } {
  const boundary = `----portico${randomUUID()}`
  const chunks = parts.flatMap(({ name, content, fileName, type }) => {
    const file = fileName === undefined ? [] : [Buffer.from('; filename="'), Buffer.from(fileName), Buffer.from('"')]
    const kind = type === undefined ? '' : `content-type: ${type}\r\n`
    return [
      Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; name="${name}"`),
      ...file,
      Buffer.from(`\r\n${kind}\r\n`),
      Buffer.from(content),
      Buffer.from('\r\n'),
    ]
  })
  return {
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    body: Buffer.concat([...chunks, Buffer.from(`--${boundary}--\r\n`)]),
  }
}

const pngHead = Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex')

/** `size` bytes, starting with a PNG header. */
export function png(size = 200): Uint8Array {
  return Buffer.concat([pngHead, Buffer.alloc(size - pngHead.length, 7)])
}

/** `size` bytes, starting with a PDF header and different for each call. */
export function pdf(size = 200): Uint8Array {
  const head = Buffer.from(`%PDF-1.7\n%\xe2\xe3\xcf\xd3\n%${randomUUID()}\n`, 'latin1')
  return Buffer.concat([head, Buffer.alloc(size - head.length, 0x20)])
}
