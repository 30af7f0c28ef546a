import type { IncomingMessage } from 'node:http'
import { Transform } from 'node:stream'
import { StreamReply } from '../kernel/index.ts'
import { readUpTo } from '../platform/http-client.ts'
import { AnsweredRefusal, invalidReply, isUncoded, readReply, tooLong } from './upstream-reply.ts'

/** What a 304 says: whatever else it said would change a copy that a client has saved (RFC 9111, 3.2). */
const version = ['etag', 'accept-ranges']

/** Every field of an upstream's answer that a client sees; a cookie or a location never does. */
const relayed = ['content-type', 'content-length', 'content-range', 'content-disposition', ...version]

/** In ASCII, as it has to be (RFC 6266): Node does not write others beside a length. */
const attachment = /^attachment[\t\x20-\x7e]*$/i

/** By status, the field without which nobody has asked for it. */
const conditional = new Map([
  [206, 'range'],
  [304, 'if-none-match'],
])

const field = (response: IncomingMessage, name: string): string | undefined => {
  const value = response.headers[name]
  return typeof value === 'string' ? value : undefined
}

/** An upstream's JSON: data, or a refusal said again in our own words. */
export const readStreamedJson = async (response: IncomingMessage, maxBytes: number): Promise<unknown> => {
  const status = response.statusCode ?? 0
  try {
    return readReply({
      status,
      contentType: field(response, 'content-type') ?? '',
      retryAfter: field(response, 'retry-after') ?? '',
      rateLimitPolicy: field(response, 'ratelimit-policy') ?? '',
      bytes: await readUpTo(response, maxBytes, () => tooLong('reply')),
    })
  } catch (error) {
    const range = field(response, 'content-range') ?? ''
    if (
      !(error instanceof AnsweredRefusal) ||
      error.code !== 'FILE.RANGE_NOT_SATISFIABLE' ||
      !/^bytes \*\/\d+$/.test(range)
    )
      throw error
    throw new AnsweredRefusal(error.code, { ...error.detail, headers: { 'content-range': range } })
  }
}

const bounded = (maxBytes: number): Transform => {
  let size = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length
      if (size > maxBytes) done(tooLong('stream'))
      else done(null, chunk)
    },
  })
}

/** Whether the end of a body can be told from its breaking off. */
const isDelimited = (response: IncomingMessage): boolean =>
  response.statusCode === 304 ||
  field(response, 'content-length') !== undefined ||
  field(response, 'transfer-encoding')?.toLowerCase() === 'chunked'

/** An upstream's bytes, passed on as they come; undefined for an answer that is no stream, or not one that was `asked` for. */
export const streamReply = (
  response: IncomingMessage,
  maxBytes: number,
  asked: Record<string, string>,
): StreamReply | undefined => {
  const status = response.statusCode ?? 0
  if (status !== 200 && !((conditional.get(status) ?? '') in asked)) return undefined
  if (!isUncoded(field(response, 'content-encoding'))) throw invalidReply('content encoding')
  if (!isDelimited(response)) throw invalidReply('a stream without an end')
  if (Number(field(response, 'content-length') ?? 0) > maxBytes) throw tooLong('stream')
  const headers: Record<string, string> = {}
  for (const name of status === 304 ? version : relayed) {
    const value = field(response, name)
    if (value !== undefined) headers[name] = value
  }
  if (status !== 304 && !attachment.test(headers['content-disposition'] ?? ''))
    headers['content-disposition'] = 'attachment'
  const body = bounded(maxBytes)
  response.on('error', (error) => body.destroy(error))
  response.on('aborted', () => body.destroy(invalidReply('stream broke off')))
  body.on('close', () => response.destroy())
  // Whoever reads it hears of a fault by the pipe; where nobody has begun to, a fault must not end the process.
  body.on('error', () => undefined)
  return new StreamReply(status, headers, response.pipe(body))
}
