import { Readable } from 'node:stream'
import { matchesIfNoneMatch, Refusal, type RequestContext, StreamReply } from '../../kernel/index.ts'
import { type Blobs, BlobsUnavailable, type ByteRange } from './blobs.ts'

export type RequestedRange = ByteRange | 'whole' | 'unsatisfiable'

const single = /^bytes=(\d{0,15})-(\d{0,15})$/

/**
 * Parses a Range header (RFC 9110, section 14.1). Ignores unknown units and invalid ranges, as section 14.2 requires.
 * Rejects multiple ranges, because a client could make them expensive.
 */
export function parseByteRange(header: string | null, size: number): RequestedRange {
  if (header === null || !/^bytes=/.test(header)) return 'whole'
  if (header.includes(',')) return 'unsatisfiable'
  const [matched, from = '', to = ''] = single.exec(header.replaceAll(' ', '')) ?? []
  if (matched === undefined || (from === '' && to === '')) return 'whole'
  if (from === '') {
    const suffix = Math.min(Number(to), size)
    return suffix === 0 ? 'unsatisfiable' : { first: size - suffix, last: size - 1 }
  }
  const first = Number(from)
  if (to !== '' && Number(to) < first) return 'whole'
  if (first >= size) return 'unsatisfiable'
  return { first, last: to === '' ? size - 1 : Math.min(Number(to), size - 1) }
}

export interface Downloadable {
  key: string
  fileName: string
  contentType: string
  sizeBytes: number
  /** In hex. Also the entity tag, because a blob never changes. */
  sha256: string
}

/** The part of a request that a download depends on. */
export type DownloadRequest = Pick<RequestContext, 'range' | 'ifNoneMatch' | 'ifRange' | 'headOnly'> & {
  signal: AbortSignal
}

/**
 * Returns the reply of a download, for operations with `reply: 'stream'`. Supports Range and conditional requests (RFC
 * 9110, sections 13 and 14). Throws FILE.RANGE_NOT_SATISFIABLE.
 */
export async function download(blobs: Blobs, item: Downloadable, request: DownloadRequest): Promise<StreamReply> {
  const { sizeBytes } = item
  const tag = `"${item.sha256}"`
  const validator = { etag: tag, 'accept-ranges': 'bytes' }
  if (matchesIfNoneMatch(request.ifNoneMatch, tag)) return new StreamReply(304, validator, Readable.from([]))
  const headers = {
    ...validator,
    'content-type': item.contentType,
    'content-disposition': disposition(item.fileName),
  }
  // A client with part of another version (If-Range) gets the whole blob.
  const isSameVersion = request.ifRange === null || request.ifRange === tag
  const range = parseByteRange(isSameVersion ? request.range : null, sizeBytes)
  if (range === 'unsatisfiable')
    throw new Refusal('FILE.RANGE_NOT_SATISFIABLE', { headers: { 'content-range': `bytes */${sizeBytes}` } })
  if (range === 'whole')
    return new StreamReply(200, { ...headers, 'content-length': String(sizeBytes) }, await open(blobs, item, request))
  const { first, last } = range
  const part = { 'content-range': `bytes ${first}-${last}/${sizeBytes}`, 'content-length': String(last - first + 1) }
  return new StreamReply(206, { ...headers, ...part }, await open(blobs, item, request, range))
}

/** RFC 6266: the file name in ASCII for old clients, and in UTF-8 (RFC 8187). */
function disposition(name: string): string {
  const ascii = name.replace(/[^\x20-\x7e]|["\\%;]/g, '_')
  const encoded = encodeURIComponent(name).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`
}

async function open(
  blobs: Blobs,
  { key }: Downloadable,
  { signal }: DownloadRequest,
  range?: ByteRange,
): Promise<Readable> {
  const bytes = await blobs.get(key, range, signal)
  if (!bytes) throw new BlobsUnavailable(new Error(`${key} is missing`))
  return bytes
}
