import type { IncomingMessage } from 'node:http'
import { Transform } from 'node:stream'
import { Refusal, StreamReply } from '../../kernel/index.ts'
import { readUpTo } from '../../platform/http-client.ts'
import {
  brokenReply,
  type IsCode,
  invalidReply,
  isIdentityEncoding,
  readReply,
  replyTooLong,
  toSeconds,
  UpstreamRefusal,
} from './reply.ts'

/** Other headers of a 304 would change the client's cached copy (RFC 9111, 3.2). */
const notModifiedHeaders = ['etag', 'accept-ranges']

/** Cookies and locations are never relayed. */
const relayedHeaders = ['content-type', 'content-length', 'content-range', 'content-disposition', ...notModifiedHeaders]

/** Bytes above ASCII are relayed unchanged, although RFC 6266 does not allow them. */
const attachmentPattern = /^attachment[\t ]*(?:;|$)/i

const conditions: ReadonlyMap<number, readonly string[]> = new Map([
  [206, ['range']],
  [304, ['if-none-match', 'if-modified-since']],
])

/**
 * Whether the request had one of the headers that allow an upstream to use a status. Undefined for a status that needs
 * none.
 */
export function isRequested(status: number, requestHeaders: Record<string, string>): boolean | undefined {
  return conditions.get(status)?.some((name) => name in requestHeaders)
}

export function headerOf(response: IncomingMessage, name: string): string | undefined {
  const value = response.headers[name]
  return typeof value === 'string' ? value : undefined
}

/** See `UpstreamReply`. */
export function retryAfterOf(response: IncomingMessage): string {
  return toSeconds(headerOf(response, 'retry-after') ?? '', headerOf(response, 'date') ?? '')
}

/** Returns the data of a JSON reply. Throws as `readReply` does. */
export async function readJsonReply(response: IncomingMessage, maxBytes: number, isCode: IsCode): Promise<unknown> {
  try {
    const reply = {
      status: response.statusCode ?? 0,
      contentType: headerOf(response, 'content-type') ?? '',
      retryAfter: retryAfterOf(response),
      rateLimitPolicy: headerOf(response, 'ratelimit-policy') ?? '',
      fields: headerOf(response, 'x-portico-fields') ?? '',
      bytes: await readUpTo(response, maxBytes, () => replyTooLong('reply')),
    }
    return readReply(reply, isCode)
  } catch (error) {
    if (!(error instanceof Refusal)) throw brokenReply('reply broke off', error)
    throw withHeaders(error, headerOf(response, 'content-range') ?? '', headerOf(response, 'accept') ?? '')
  }
}

/** Undefined if the response is not a stream, or if its status does not match the request headers. */
export function toStreamReply(
  response: IncomingMessage,
  maxBytes: number,
  requestHeaders: Record<string, string>,
): StreamReply | undefined {
  const status = response.statusCode ?? 0
  if (status !== 200 && !isRequested(status, requestHeaders)) return undefined
  return new StreamReply(status, replyHeaders(response, status), toLimitedBody(response, maxBytes))
}

/** Throws for a body that is encoded or too large. */
export function toLimitedBody(response: IncomingMessage, maxBytes: number): Transform {
  if (!isIdentityEncoding(headerOf(response, 'content-encoding'))) throw invalidReply('content encoding')
  // Without a length, the end of the connection is that of the stream. See `settlePending` for a reset.
  const coding = headerOf(response, 'transfer-encoding') ?? 'chunked'
  if (coding.toLowerCase() !== 'chunked') throw invalidReply('transfer encoding')
  if (Number(headerOf(response, 'content-length') ?? 0) > maxBytes) throw replyTooLong('stream')
  const body = limitBytes(maxBytes)
  response.on('error', (error) => body.destroy(error))
  response.on('aborted', () => body.destroy(invalidReply('stream broke off')))
  body.on('close', () => response.destroy())
  // A reader's pipeline reports errors. Without a reader, an error event must not end the process.
  body.on('error', () => undefined)
  return response.pipe(body)
}

const acceptPattern = /^[a-z]+\/[\w.+-]{1,64}(?:, [a-z]+\/[\w.+-]{1,64}){0,31}$/

function withHeaders(error: unknown, range: string, accept: string): unknown {
  if (!(error instanceof UpstreamRefusal)) return error
  const { code, detail } = error
  if (code === 'FILE.RANGE_NOT_SATISFIABLE' && /^bytes \*\/\d+$/.test(range))
    return new UpstreamRefusal(code, { ...detail, headers: { 'content-range': range } })
  return code === 'VALIDATION.INVALID_PARAMETER' && detail.field !== undefined && acceptPattern.test(accept)
    ? new UpstreamRefusal(code, { ...detail, accepts: accept.split(', ') })
    : error
}

function replyHeaders(response: IncomingMessage, status: number): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const name of status === 304 ? notModifiedHeaders : relayedHeaders) {
    const value = headerOf(response, name)
    if (value !== undefined) headers[name] = value
  }
  if (status !== 304 && !attachmentPattern.test(headers['content-disposition'] ?? ''))
    headers['content-disposition'] = 'attachment'
  return headers
}

/** Returns a stream that fails if there are more than `maxBytes`. */
function limitBytes(maxBytes: number): Transform {
  let size = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length
      if (size > maxBytes) done(replyTooLong('stream'))
      else done(null, chunk)
    },
  })
}
