import { isUtf8 } from 'node:buffer'
import { isGatewayCode } from '../../contract/policies.ts'
import {
  type Code,
  type Durations,
  type ExceededLimit,
  hasInexactNumber,
  isDeeperThan,
  isRecord,
  maxReplyDepth,
  parseInvalidFields,
  Refusal,
  type RefusalDetail,
} from '../../kernel/index.ts'

/**
 * The upstream responded, so it is alive. The refusal concerns only this request, which a caller may have crafted.
 */
export class UpstreamRefusal extends Refusal {
  readonly #isUpstream = true

  /** `Refusal` accepts every refusal as an instance, so this class checks its private field. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && #isUpstream in value
  }
}

/**
 * Proves that the upstream is unreachable: no connection, a reset before the head, a timeout, or a complete 502, 503 or
 * 504.
 */
export class UnreachableRefusal extends Refusal {
  readonly #isUnreachable = true
  /** Whether there was no response, so that a GET can be retried. */
  readonly isConnection: boolean

  constructor(code: Code, detail: RefusalDetail, isConnection = false) {
    super(code, detail)
    this.isConnection = isConnection
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && #isUnreachable in value
  }
}

/** A request that waits for a connection of its own proves nothing about the upstream. */
export function upstreamTimeout(internal: string, hasConnection = true): Refusal {
  return hasConnection
    ? new UnreachableRefusal('SYSTEM.UPSTREAM_TIMEOUT', { internal })
    : new Refusal('SYSTEM.UPSTREAM_TIMEOUT', { internal: `${internal}, without a connection` })
}

export function invalidReply(internal: string): Refusal {
  return new UpstreamRefusal('SYSTEM.UPSTREAM_INVALID_RESPONSE', { internal })
}

/** Neither proves that the upstream is unreachable nor that it works. */
export function brokenReply(internal: string, cause?: unknown): Refusal {
  return new Refusal('SYSTEM.UPSTREAM_INVALID_RESPONSE', { internal, cause })
}

export function replyTooLong(internal: string): Refusal {
  return invalidReply(`${internal} too long`)
}

/** RFC 9110, 5.6.7, without the two obsolete formats. */
const datePattern = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/** Returns a Retry-After in seconds, as `UpstreamReply` has it. A date counts from the upstream's own Date. */
export function toSeconds(retryAfter: string, date: string): string {
  if (!datePattern.test(retryAfter)) return retryAfter
  const waitMs = Date.parse(retryAfter) - Date.parse(date)
  return Number.isNaN(waitMs) ? '' : String(Math.max(0, Math.ceil(waitMs / 1_000)))
}

/** Content-Encoding is case-insensitive (RFC 9110, 8.4.1). */
export function isIdentityEncoding(encoding = ''): boolean {
  return encoding === '' || encoding.toLowerCase() === 'identity'
}

/** A load balancer in front of an unavailable upstream sends these with its own page or without a body. */
export function unexpectedReply(
  { status, retryAfter }: Pick<UpstreamReply, 'status' | 'retryAfter'>,
  internal: string,
  more: { upstreamCode?: string } = {},
): Refusal {
  const detail = { internal, ...parseWait(retryAfter), ...more }
  if (status === 503)
    return new UnreachableRefusal('SYSTEM.UNAVAILABLE', {
      retryAfter: 1,
      ...detail,
      internal: 'upstream responded with 503',
    })
  return status === 502 || status === 504
    ? new UnreachableRefusal('SYSTEM.UPSTREAM_INVALID_RESPONSE', detail)
    : new UpstreamRefusal('SYSTEM.UPSTREAM_INVALID_RESPONSE', detail)
}

/** A code cannot forge or flood a log line. */
const upstreamCodePattern = /^[\w.:-]{1,64}$/

/** The field name is the only text from an upstream that reaches clients. */
const fieldPattern = /^[\w.$-]{1,64}$/

/** One limit, in the format of our own responses. */
const policyPattern = /^"(?<name>[a-z][a-z-]{0,63})";q=(?<limit>\d{1,9});w=(?<seconds>\d{1,9})$/

const envelopeFields = ['success', 'code', 'message', 'data']

/** Whether a domain of this process declares the code. */
export type IsCode = (text: string) => text is Code

export interface ClientPorts {
  isCode: IsCode
  durations: Durations
}

/** The value of an absent header is ''. */
export interface UpstreamReply {
  status: number
  contentType: string
  /** In seconds. */
  retryAfter: string
  rateLimitPolicy: string
  /** `X-Portico-Fields`. */
  fields: string
  bytes: Buffer
}

/**
 * Throws an upstream's refusal with the gateway's own message, and an invalid response for any other reply whose status
 * is not 200. Data needs no envelope.
 */
export function readReply(reply: UpstreamReply, isCode: IsCode): unknown {
  const { status, contentType } = reply
  if (!/^application\/json\b/i.test(contentType))
    throw unexpectedReply(reply, `status ${status}, type ${contentType.slice(0, 40)}`)
  const value = parseJson(reply)
  if (status === 200) {
    if (!isEnvelope(value)) return value
    if (value.success === true) return value.data
  }
  if (!isFailure(value)) throw unexpectedReply(reply, `status ${status} without the envelope of a refusal`)
  if (!isRelayable(value.code, isCode))
    throw unexpectedReply(
      reply,
      `status ${status}, a refusal with a reserved or unknown code`,
      toUpstreamCode(value.code),
    )
  throw toUpstreamRefusal(value.code, value.field, reply)
}

function parseJson(reply: UpstreamReply): unknown {
  const { status, bytes } = reply
  if (!isUtf8(bytes)) throw unexpectedReply(reply, `status ${status}, not UTF-8`)
  const text = bytes.toString('utf8').replace(/^\ufeff/, '')
  if (isDeeperThan(text, maxReplyDepth)) throw unexpectedReply(reply, `status ${status}, nested too deep`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The parser's error quotes the reply, which must not appear in the log.
    throw unexpectedReply(reply, `status ${status}, not JSON`)
  }
  // Nothing but codes and names is read from other replies.
  if (status === 200 && hasInexactNumber(text))
    throw new UpstreamRefusal('SYSTEM.UPSTREAM_INVALID_RESPONSE', { internal: 'a number that a double changes' })
  return value
}

function isEnvelope(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && typeof value.success === 'boolean' && envelopeFields.every((name) => name in value)
}
function isFailure(value: unknown): value is Record<string, unknown> {
  return isEnvelope(value) && value.success === false
}

function isRelayable(code: unknown, isCode: IsCode): code is Code {
  return typeof code === 'string' && isCode(code) && !isGatewayCode(code)
}

function toUpstreamCode(code: unknown): { upstreamCode?: string } {
  const text = typeof code === 'number' ? String(code) : code
  return typeof text === 'string' && upstreamCodePattern.test(text) ? { upstreamCode: text } : {}
}

function toUpstreamRefusal(
  code: Code,
  field: unknown,
  { retryAfter, rateLimitPolicy, ...reply }: UpstreamReply,
): Refusal {
  const wait = parseRetryAfter(code, retryAfter)
  const fields = parseInvalidFields(reply.fields)
  return new UpstreamRefusal(code, {
    ...(fields.length > 0 ? { fields } : {}),
    ...(typeof field === 'string' && fieldPattern.test(field) ? { field } : {}),
    ...wait,
    ...parseLimit(code, rateLimitPolicy, wait),
    internal: 'refused upstream',
  })
}

function parseWait(header: string): { retryAfter?: number } {
  return /^\d{1,9}$/.test(header) ? { retryAfter: Number(header) } : {}
}

/** One second for a rate limit without a valid Retry-After. */
function parseRetryAfter(code: Code, header: string): { retryAfter?: number } {
  return { ...(code === 'ACCESS.RATE_LIMITED' && { retryAfter: 1 }), ...parseWait(header) }
}

/** The caller has to wait for the upstream's limit. */
function parseLimit(
  code: Code,
  header: string,
  { retryAfter = 1 }: { retryAfter?: number },
): { limit?: ExceededLimit } {
  const { name, limit, seconds } = policyPattern.exec(header)?.groups ?? {}
  if (code !== 'ACCESS.RATE_LIMITED' || name === undefined) return {}
  return { limit: { name, limit: Number(limit), windowMs: Number(seconds) * 1_000, resetMs: retryAfter * 1_000 } }
}
