import { Readable } from 'node:stream'
import { matchesIfNoneMatch, Refusal, type RequestContext, StreamReply } from '../../kernel/index.ts'
import type { Blobs, ByteRange } from './blobs.ts'
import { BlobsUnavailable } from './fault.ts'
import { judgeRange } from './range.ts'

export interface Downloadable {
  key: string
  fileName: string
  contentType: string
  sizeBytes: number
  /** Hex; it is the entity tag too, since a blob never changes. */
  sha256: string
}

type Conditions = Pick<RequestContext, 'range' | 'ifNoneMatch' | 'ifRange'>

/** RFC 6266: a name in ASCII for old clients, and the real one (RFC 8187). It is never shown inline. */
const disposition = (name: string): string => {
  const ascii = name.replace(/[^\x20-\x7e]|["\\%;]/g, '_')
  const encoded = encodeURIComponent(name).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`
}

const open = async (blobs: Blobs, key: string, range?: ByteRange): Promise<Readable> => {
  const bytes = await blobs.get(key, range)
  if (!bytes) throw new BlobsUnavailable(new Error(`${key} is missing`))
  return bytes
}

/** A blob as an attachment, by the request's Range and conditions (RFC 9110, sections 13 and 14). */
export const download = async (blobs: Blobs, item: Downloadable, asked: Conditions): Promise<StreamReply> => {
  const { key, sizeBytes } = item
  const tag = `"${item.sha256}"`
  const validator = { etag: tag, 'accept-ranges': 'bytes' }
  if (matchesIfNoneMatch(asked.ifNoneMatch, tag)) return new StreamReply(304, validator, Readable.from([]))
  const headers = {
    ...validator,
    'content-type': item.contentType,
    'content-disposition': disposition(item.fileName),
  }
  // A range of another version than the one that is here would not fit what the client has: it gets the whole.
  const isFit = asked.ifRange === null || asked.ifRange === tag
  const range = judgeRange(isFit ? asked.range : null, sizeBytes)
  if (range === 'unsatisfiable')
    throw new Refusal('FILE.RANGE_NOT_SATISFIABLE', { headers: { 'content-range': `bytes */${sizeBytes}` } })
  if (range === 'whole')
    return new StreamReply(200, { ...headers, 'content-length': String(sizeBytes) }, await open(blobs, key))
  const { first, last } = range
  const part = { 'content-range': `bytes ${first}-${last}/${sizeBytes}`, 'content-length': String(last - first + 1) }
  return new StreamReply(206, { ...headers, ...part }, await open(blobs, key, range))
}
