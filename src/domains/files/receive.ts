import { pipeline } from 'node:stream/promises'
import { type Blobs, createByteMeter } from '../../platform/blobs/index.ts'
import type { FilePart } from './form.ts'
import { judgeType, safeName, tooLarge } from './rules.ts'

/** A file whose bytes are in the blob store, and which nobody knows of yet. */
export interface ReceivedFile {
  blobKey: string
  fileName: string
  contentType: string
  sizeBytes: number
  sha256: string
}

/** As many bytes as signatures and browsers' guesses look at. */
const headBytes = 4_100

/** Passes everything on; the type is judged as soon as its head is there, before the rest is stored. */
async function* judged(part: FilePart, told: (type: string) => void): AsyncGenerator<Buffer> {
  let head = Buffer.alloc(0)
  let isJudged = false
  const judge = async (isWhole: boolean): Promise<void> => {
    isJudged = true
    const { fileTypeFromBuffer } = await import('file-type')
    const sniffed = await fileTypeFromBuffer(head)
    told(judgeType({ head, isWhole }, part.declaredType, sniffed?.mime))
  }
  for await (const chunk of part.bytes) {
    if (!isJudged) {
      head = Buffer.concat([head, chunk]).subarray(0, headBytes)
      if (head.length >= headBytes) await judge(false)
    }
    yield chunk
  }
  if (!isJudged) await judge(true)
}

/** Streams a part into the blob store while it is counted, hashed and judged. Whatever is refused leaves nothing. */
export const receive = async (
  blobs: Blobs,
  blobKey: string,
  part: FilePart,
  maxBytes: number,
): Promise<ReceivedFile> => {
  // A name that is none is refused before anything is stored.
  safeName(part.fileName, '')
  const { through, size, sha256 } = createByteMeter((soFar) => {
    if (soFar > maxBytes) throw tooLarge()
  })
  let contentType = ''
  const told = (type: string): void => {
    contentType = type
  }
  const feeding = pipeline(judged(part, told), through)
  const storing = blobs.put(blobKey, through)
  // Neither is left running. The store says why, for its own failures and for those that it was fed.
  await Promise.allSettled([feeding, storing])
  await storing
  return { blobKey, fileName: safeName(part.fileName, contentType), contentType, sizeBytes: size(), sha256: sha256() }
}
