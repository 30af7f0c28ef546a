import { extname } from 'node:path'
import type { Request, Response } from 'express'
import { matchesIfNoneMatch } from '../../kernel/index.ts'
import { parseByteRange } from '../../platform/blobs/index.ts'
import type { Encoding, Representation, SiteFile } from './read-site.ts'

/** Links between pages and apps of Apple need this file, which has no extension. */
const appleFile = 'apple-app-site-association'

/** Supports conditional requests and one range (RFC 9110, sections 13 and 14). */
export function sendFile(
  file: SiteFile,
  path: string,
  securityHeaders: Readonly<Record<string, string>>,
  request: Request,
  response: Response,
): void {
  const [encoding, { bytes, etag }] = chooseRepresentation(file, request)
  response.set({
    ...securityHeaders,
    'content-security-policy': file.policy,
    'cache-control': file.isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    vary: 'Accept-Encoding',
    'accept-ranges': 'bytes',
    etag,
  })
  const { headers } = request
  if (headers['if-match'] !== undefined && !matchesIfNoneMatch(headers['if-match'], etag)) {
    response.writeHead(412, { 'content-length': 0 }).end()
    return
  }
  if (matchesIfNoneMatch(headers['if-none-match'], etag)) {
    response.writeHead(304).end()
    return
  }
  // Ranges are defined for GET only (RFC 9110, section 14.2).
  const isSameVersion = headers['if-range'] === undefined || headers['if-range'] === etag
  const hasRange = request.method === 'GET' && isSameVersion
  const range = parseByteRange(hasRange ? (headers.range ?? null) : null, bytes.length)
  if (range === 'unsatisfiable') {
    response.writeHead(416, { 'content-range': `bytes */${bytes.length}`, 'content-length': 0 }).end()
    return
  }
  const name = path.slice(path.lastIndexOf('/') + 1)
  response.type(name === appleFile ? 'json' : extname(name) || 'bin')
  if (encoding !== 'identity') response.set('content-encoding', encoding)
  if (range === 'whole') {
    response.writeHead(200, { 'content-length': bytes.length }).end(bytes)
    return
  }
  const { first, last } = range
  response.writeHead(206, {
    'content-range': `bytes ${first}-${last}/${bytes.length}`,
    'content-length': last - first + 1,
  })
  response.end(bytes.subarray(first, last + 1))
}

/** The smallest, unless the client weights its codings. */
function chooseRepresentation(
  { identity, encoded }: SiteFile,
  request: Request,
): [Encoding | 'identity', Representation] {
  const accepted = [...encoded].filter(([encoding]) => request.acceptsEncodings(encoding) === encoding)
  accepted.sort(([, one], [, other]) => one.bytes.length - other.bytes.length)
  const isWeighted = /;\s*q\s*=/i.test(String(request.headers['accept-encoding']))
  const preferred = isWeighted
    ? request.acceptsEncodings([...accepted.map(([encoding]) => encoding), 'identity'])
    : accepted[0]?.[0]
  return accepted.find(([encoding]) => encoding === preferred) ?? ['identity', identity]
}
