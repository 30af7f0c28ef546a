import type { Configuration } from '../../../config/index.ts'
import { invalid, parseStrictJson, Refusal } from '../../../kernel/index.ts'
import { enforcePace, readBody } from '../../http/body-reader.ts'
import type { Call, Stage } from '../call.ts'
import type { Reauthorize } from './reauthorize.ts'

/** A parameter list may have empty entries (RFC 9110, 5.6.6). */
const jsonType = /^application\/json\s*(?:;\s*(?:charset\s*=\s*"?utf-8"?\s*)?)*$/i
const multipartType = /^multipart\/form-data\s*;/i

/** A boundary has at most 70 characters (RFC 2046). The type of an upload is sent to upstreams, whose heads are limited. */
const maxTypeLength = 256

const unsupported = (internal: string): Refusal => new Refusal('REQUEST.UNSUPPORTED_MEDIA_TYPE', { internal })

const readMediaType = (call: Call, accepted: RegExp): string => {
  const type = call.headers.optional('content-type') ?? ''
  if (type.length > maxTypeLength || !accepted.test(type)) throw unsupported('content type')
  return type
}

async function readPayload(
  call: Call,
  { maxBodyBytes, bodyTimeoutMs, maxDepth }: Configuration['requests'],
  reauthorize: Reauthorize,
): Promise<void> {
  const authorizeAgain = reauthorize(call)
  const bytes = await readBody(call.body, maxBodyBytes, bodyTimeoutMs)
  await authorizeAgain()
  if (bytes.length === 0) return
  readMediaType(call, jsonType)
  const parsed = parseStrictJson(bytes, maxDepth)
  if (!parsed.ok) {
    const { malformedBody: unreadable } = call.operation
    throw unreadable ? new Refusal(unreadable, { internal: parsed.reason }) : invalid('body', parsed.reason)
  }
  call.payload = parsed.value
}

/** Sets the payload: strict JSON in UTF-8, limited in size and time. Uploads stay streams with a minimum speed. */
export function bodyStage(settings: Configuration['requests'], reauthorize: Reauthorize): Stage {
  const { bodyTimeoutMs, uploadBytesPerSecond } = settings
  const pace = { windowMs: bodyTimeoutMs, bytes: (uploadBytesPerSecond * bodyTimeoutMs) / 1_000 }
  return (call) => {
    const encoding = call.headers.optional('content-encoding')
    if (encoding !== undefined && encoding.toLowerCase() !== 'identity') throw unsupported('content encoding')
    if (call.operation.body === 'multipart') {
      const contentType = readMediaType(call, multipartType)
      call.upload = { contentType, bytes: enforcePace(call.body, pace, reauthorize(call)) }
      return
    }
    const length = call.headers.optional('content-length')
    if (length === undefined ? !call.headers.has('transfer-encoding') : length === '0') return
    if (Number(length) > settings.maxBodyBytes) throw new Refusal('REQUEST.TOO_LARGE', { internal: 'content length' })
    return readPayload(call, settings, reauthorize)
  }
}
