import type { Configuration } from '../../config/index.ts'
import { invalid, parseStrictJson, Refusal } from '../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'
import { paced } from '../paced.ts'
import { readBounded } from '../read-bounded.ts'
import type { WhileWaiting } from './judged-again.ts'

/** A list of parameters may have empty ones (RFC 9110, 5.6.6). */
const json = /^application\/json\s*(?:;\s*(?:charset\s*=\s*"?utf-8"?\s*)?)*$/i
const multipart = /^multipart\/form-data\s*;/i

const unsupported = (internal: string): Refusal => new Refusal('REQUEST.UNSUPPORTED_MEDIA_TYPE', { internal })

/** A boundary has 70 characters at most (RFC 2046), and the type of an upload travels on to an upstream, whose head is bounded. */
const longestType = 256

const mediaType = (call: Call, accepted: RegExp): string => {
  const type = call.headers.optional('content-type') ?? ''
  if (type.length > longestType || !accepted.test(type)) throw unsupported('content type')
  return type
}

const read = async (
  call: Call,
  { maxBodyBytes, bodyTimeoutMs, maxDepth }: Configuration['requests'],
  waiting: WhileWaiting,
): Promise<void> => {
  const isThere = waiting(call)
  const bytes = await readBounded(call.body, maxBodyBytes, bodyTimeoutMs)
  await isThere()
  if (bytes.length === 0) return
  mediaType(call, json)
  const parsed = parseStrictJson(bytes, maxDepth)
  if (!parsed.ok) {
    const { malformedBody } = call.operation
    throw malformedBody ? new Refusal(malformedBody, { internal: parsed.reason }) : invalid('body', parsed.reason)
  }
  call.payload = parsed.value
}

/** The body: bounded in size and time, JSON and nothing else in UTF-8 and nothing else. Uploads stay streams, which only have to come. */
export const body = (settings: Configuration['requests'], waiting: WhileWaiting): Stage => {
  const { bodyTimeoutMs, uploadBytesPerSecond } = settings
  const pace = { windowMs: bodyTimeoutMs, bytes: (uploadBytesPerSecond * bodyTimeoutMs) / 1_000 }
  return (call) => {
    const encoding = call.headers.optional('content-encoding')
    if (encoding !== undefined && encoding.toLowerCase() !== 'identity') throw unsupported('content encoding')
    if (call.operation.body === 'multipart') {
      call.upload = { contentType: mediaType(call, multipart), bytes: paced(call.body, pace, waiting(call)) }
      return
    }
    const length = call.headers.optional('content-length')
    if (length === undefined ? !call.headers.has('transfer-encoding') : length === '0') return
    if (Number(length) > settings.maxBodyBytes) throw new Refusal('REQUEST.TOO_LARGE', { internal: 'content length' })
    return read(call, settings, waiting)
  }
}
