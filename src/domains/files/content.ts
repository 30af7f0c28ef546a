import { pipeline } from 'node:stream/promises'
import { type Blobs, createByteMeter } from '../../platform/blobs/index.ts'
import type { FilePart } from './multipart-form.ts'
import { detectType, sanitizeName, tooLarge } from './rules.ts'

/** A file whose bytes are in the blob store, before a row refers to them. */
export interface StoredContent {
  blobKey: string
  fileName: string
  contentType: string
  sizeBytes: number
  sha256: string
}

/** Number of bytes that signatures and browsers look at. */
const headBytes = 4_100

/** Passes the bytes on. Detects the type from the first ones, before the rest is stored. */
async function* detectingType(part: FilePart, onType: (type: string) => void): AsyncGenerator<Buffer> {
  let head = Buffer.alloc(0)
  let isDetected = false
  const detect = async (isWhole: boolean): Promise<void> => {
    isDetected = true
    const { fileTypeFromBuffer } = await import('file-type')
    const sniffed = await fileTypeFromBuffer(head)
    onType(detectType({ head, isWhole }, part.declaredType, sniffed?.mime))
  }
  for await (const chunk of part.bytes) {
    if (!isDetected) {
      head = Buffer.concat([head, chunk]).subarray(0, headBytes)
      if (head.length >= headBytes) await detect(false)
    }
    yield chunk
  }
  if (!isDetected) await detect(true)
}

/** Streams a part into the blob store and measures it. A refused part leaves nothing behind. */
export const storeContent = async (
  blobs: Blobs,
  blobKey: string,
  part: FilePart,
  maxBytes: number,
): Promise<StoredContent> => {
  // Refuse an invalid name before storing anything.
  sanitizeName(part.fileName, '')
  const { through, size, sha256 } = createByteMeter((soFar) => {
    if (soFar > maxBytes) throw tooLarge()
  })
  let contentType = ''
  const onType = (type: string): void => {
    contentType = type
  }
  const feeding = pipeline(detectingType(part, onType), through)
  const storing = blobs.put(blobKey, through)
  // Wait for both. The store rejects with the cause, also if the upload failed.
  await Promise.allSettled([feeding, storing])
  await storing
  return {
    blobKey,
    fileName: sanitizeName(part.fileName, contentType),
    contentType,
    sizeBytes: size(),
    sha256: sha256(),
  }
}
