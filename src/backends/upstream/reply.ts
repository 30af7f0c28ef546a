import { isUtf8 } from 'node:buffer'
import { type Code, type ExceededLimit, isRecord, Refusal } from '../../kernel/index.ts'

/** Returns the refusal for a reply that violates the protocol. It counts as a failure of the upstream. */
export const invalidReply = (internal: string, cause?: unknown): Refusal =>
  new Refusal('SYSTEM.UPSTREAM_INVALID_RESPONSE', { internal, cause })

/**
 * A refusal of an upstream that works: its reply is complete, or it is too long. It concerns only this request, which a
 * caller can have crafted.
 */
export class UpstreamRefusal extends Refusal {
  readonly #isUpstream = true

  /** `Refusal` recognizes every refusal, so this class checks its private field. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && #isUpstream in value
  }
}

export const replyTooLong = (internal: string): Refusal =>
  new UpstreamRefusal('SYSTEM.UPSTREAM_INVALID_RESPONSE', { internal: `${internal} too long` })

/** Whether a Content-Encoding leaves the bytes unencoded, as we request. Its values are case-insensitive (RFC 9110, 8.4.1). */
export const isIdentityEncoding = (encoding = ''): boolean => encoding === '' || encoding.toLowerCase() === 'identity'

/**
 * Returns the refusal for a reply in an unknown form. A 4xx concerns the request (RFC 9110, 15.5). A 503 means that the
 * upstream is unavailable; a load balancer in front of it sends that with its own page, or without a body.
 */
const unexpectedReply = (status: number, internal: string): Refusal => {
  if (status === 503)
    return new Refusal('SYSTEM.UNAVAILABLE', { retryAfter: 1, internal: 'upstream responded with 503' })
  return status >= 400 && status < 500
    ? new UpstreamRefusal('SYSTEM.UPSTREAM_INVALID_RESPONSE', { internal })
    : invalidReply(internal)
}

/** The name of a field, in the form of our own refusals. It is the only text of an upstream that reaches clients. */
const fieldPattern = /^[\w.$-]{1,64}$/

/** Returns the waiting time in seconds. For a rate limit without a valid Retry-After, it is one second. */
const parseRetryAfter = (code: Code, header: string): { retryAfter?: number } => {
  if (/^\d{1,6}$/.test(header)) return { retryAfter: Number(header) }
  return code === 'ACCESS.RATE_LIMITED' ? { retryAfter: 1 } : {}
}

/** A RateLimit-Policy with one limit, in the form of our own responses. */
const policyPattern = /^"(?<name>[a-z][a-z-]{0,63})";q=(?<limit>\d{1,9});w=(?<seconds>\d{1,9})$/

/** Returns the limit of the upstream that rejected the call, because the caller has to wait for that limit. */
const parseLimit = (
  code: Code,
  header: string,
  { retryAfter = 1 }: { retryAfter?: number },
): { limit?: ExceededLimit } => {
  const { name, limit, seconds } = policyPattern.exec(header)?.groups ?? {}
  if (code !== 'ACCESS.RATE_LIMITED' || name === undefined) return {}
  return { limit: { name, limit: Number(limit), windowMs: Number(seconds) * 1_000, resetMs: retryAfter * 1_000 } }
}

const envelopeFields = ['success', 'code', 'message', 'data']
const isEnvelope = (value: unknown): value is Record<string, unknown> =>
  isRecord(value) && typeof value.success === 'boolean' && envelopeFields.every((name) => name in value)
const isFailure = (value: unknown): value is Record<string, unknown> => isEnvelope(value) && value.success === false

/** Codes about the gateway itself, its routes and its tokens. Upstreams must not use them. */
const gatewayCodes = /^(SYSTEM\.|ROUTE\.|ACCESS\.TOKEN)/

/** Whether a text is a refusal code that a domain of this process declares. */
export type IsCode = (text: string) => text is Code

const isRelayable = (code: unknown, isCode: IsCode): code is Code =>
  typeof code === 'string' && isCode(code) && !gatewayCodes.test(code)

const parseJson = (status: number, bytes: Buffer): unknown => {
  if (!isUtf8(bytes)) throw unexpectedReply(status, `status ${status}, not UTF-8`)
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    // The error of the parser quotes the reply, which must not appear in the log.
    throw unexpectedReply(status, `status ${status}, not JSON`)
  }
}

/** A buffered reply. A header that is absent is ''. */
export interface UpstreamReply {
  status: number
  contentType: string
  retryAfter: string
  rateLimitPolicy: string
  bytes: Buffer
}

const toUpstreamRefusal = (code: Code, field: unknown, { retryAfter, rateLimitPolicy }: UpstreamReply): Refusal => {
  const wait = parseRetryAfter(code, retryAfter)
  return new UpstreamRefusal(code, {
    ...(typeof field === 'string' && fieldPattern.test(field) ? { field } : {}),
    ...wait,
    ...parseLimit(code, rateLimitPolicy, wait),
    internal: 'refused upstream',
  })
}

/**
 * Returns the data of a reply, with or without an envelope. For the refusal in an envelope, throws it with the
 * gateway's own message. For any other reply without status 200, throws an invalid response.
 */
export function readReply(reply: UpstreamReply, isCode: IsCode): unknown {
  const { status, contentType, bytes } = reply
  if (!/^application\/json\b/i.test(contentType))
    throw unexpectedReply(status, `status ${status}, type ${contentType.slice(0, 40)}`)
  const value = parseJson(status, bytes)
  if (status === 200) {
    if (!isEnvelope(value)) return value
    if (value.success === true) return value.data
  }
  if (!isFailure(value)) throw unexpectedReply(status, `status ${status} without the envelope of a refusal`)
  if (!isRelayable(value.code, isCode))
    throw unexpectedReply(status, `status ${status}, a refusal with a reserved or unknown code`)
  throw toUpstreamRefusal(value.code, value.field, reply)
}
