import { isUtf8 } from 'node:buffer'
import { isCode } from '../contract/index.ts'
import { type Code, type ExceededLimit, isRecord, Refusal } from '../kernel/index.ts'

export const invalidReply = (internal: string, cause?: unknown): Refusal =>
  new Refusal('SYSTEM.UPSTREAM_INVALID_RESPONSE', { internal, cause })

/**
 * What came of an upstream's whole answer, or of one too long to be read: it says something of the one request, which a
 * caller may have chosen so, and of the upstream that it is well.
 */
export class AnsweredRefusal extends Refusal {}

export const tooLong = (internal: string): Refusal =>
  new AnsweredRefusal('SYSTEM.UPSTREAM_INVALID_RESPONSE', { internal: `${internal} too long` })

/** Of what Content-Encoding says: whether the bytes are as they are, as we ask for them. Codings have no case (RFC 9110, 8.4.1). */
export const isUncoded = (encoding = ''): boolean => encoding === '' || encoding.toLowerCase() === 'identity'

/**
 * An answer of a form that nobody promised. A 4xx finds fault with the request (RFC 9110, 15.5); with 503 the upstream is not
 * there, which a load balancer before it says in a page of its own, or in none.
 */
const unpromised = (status: number, internal: string): Refusal => {
  if (status === 503) return new Refusal('SYSTEM.UNAVAILABLE', { retryAfter: 1, internal: 'upstream answered 503' })
  return status >= 400 && status < 500
    ? new AnsweredRefusal('SYSTEM.UPSTREAM_INVALID_RESPONSE', { internal })
    : invalidReply(internal)
}

/** The name of an input, as the gateway's own refusals show them: the one thing of an upstream's words that is repeated. */
const fieldName = /^[\w.$-]{1,64}$/

/** Seconds. Whoever is refused for asking too often is always told of a wait, the shortest where the upstream names none. */
const waitOf = (code: Code, told: string): { retryAfter?: number } => {
  if (/^\d{1,6}$/.test(told)) return { retryAfter: Number(told) }
  return code === 'ACCESS.RATE_LIMITED' ? { retryAfter: 1 } : {}
}

/** The one limit of a RateLimit-Policy field, in the form that the gateway's own answers have. */
const policy = /^"(?<name>[a-z][a-z-]{0,63})";q=(?<limit>\d{1,9});w=(?<seconds>\d{1,9})$/

/** The limit that the upstream refuses by, where it names it: that is what the caller waits for, and none of the gateway's. */
const limitOf = (code: Code, told: string, { retryAfter = 1 }: { retryAfter?: number }): { limit?: ExceededLimit } => {
  const { name, limit, seconds } = policy.exec(told)?.groups ?? {}
  if (code !== 'ACCESS.RATE_LIMITED' || name === undefined) return {}
  return { limit: { name, limit: Number(limit), windowMs: Number(seconds) * 1_000, resetMs: retryAfter * 1_000 } }
}

const envelopeFields = ['success', 'code', 'message', 'data']
const isEnvelope = (value: unknown): value is Record<string, unknown> =>
  isRecord(value) && typeof value.success === 'boolean' && envelopeFields.every((name) => name in value)
const isRefusal = (value: unknown): value is Record<string, unknown> => isEnvelope(value) && value.success === false

/** They speak for the gateway: what it serves, whom it knows, how well it is. */
const gatewaysOwn = /^(SYSTEM\.|ROUTE\.|ACCESS\.TOKEN)/

/** What an upstream may refuse by: codes of our registry, except the gateway's own. */
const relayable = (code: unknown): code is Code => typeof code === 'string' && isCode(code) && !gatewaysOwn.test(code)

const json = (status: number, bytes: Buffer): unknown => {
  if (!isUtf8(bytes)) throw unpromised(status, `status ${status}, not UTF-8`)
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    // The parser's own error quotes what it could not read, and the log is not to hold it.
    throw unpromised(status, `status ${status}, not JSON`)
  }
}

export interface Reply {
  status: number
  contentType: string
  /** The field of that name, empty where there is none. */
  retryAfter: string
  /** Likewise. */
  rateLimitPolicy: string
  bytes: Buffer
}

/**
 * The data of an upstream's answer: plain, or in an envelope, which is taken off and never wrapped twice. A refusal in
 * an envelope is said again in the gateway's own words; anything else that is not a 200 is an invalid response.
 */
export const readReply = ({ status, contentType, bytes, retryAfter, rateLimitPolicy }: Reply): unknown => {
  if (!/^application\/json\b/i.test(contentType))
    throw unpromised(status, `status ${status}, type ${contentType.slice(0, 40)}`)
  const value = json(status, bytes)
  if (status === 200) {
    if (!isEnvelope(value)) return value
    if (value.success === true) return value.data
  }
  if (isRefusal(value) && relayable(value.code)) {
    const field = typeof value.field === 'string' && fieldName.test(value.field) ? { field: value.field } : {}
    const wait = waitOf(value.code, retryAfter)
    const limit = limitOf(value.code, rateLimitPolicy, wait)
    throw new AnsweredRefusal(value.code, { ...field, ...wait, ...limit, internal: 'refused upstream' })
  }
  throw unpromised(
    status,
    `status ${status}, ${isRefusal(value) ? 'a refusal by a code that is not to be passed on' : 'and no whole envelope of a refusal'}`,
  )
}
