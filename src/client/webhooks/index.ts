/*
 * Verifies webhooks: the entry `portico-client/webhooks`, which needs no other part of the client. It runs wherever Web
 * Crypto does.
 */
import type { PorticoEvent } from '../streams/cloud-event.ts'

export type * from '../methods.ts'
export type { PorticoEvent } from '../streams/cloud-event.ts'

/** Why a request is not a webhook of the owner of a secret. */
export type WebhookErrorCode =
  | 'WEBHOOK.HEADER_MISSING'
  | 'WEBHOOK.TIMESTAMP_INVALID'
  | 'WEBHOOK.TIMESTAMP_TOO_OLD'
  | 'WEBHOOK.TIMESTAMP_TOO_NEW'
  | 'WEBHOOK.SIGNATURE_INVALID'
  | 'WEBHOOK.PAYLOAD_INVALID'

/** Respond with 400. */
export class WebhookError extends Error {
  readonly code: WebhookErrorCode

  constructor(code: WebhookErrorCode, message: string) {
    super(message)
    this.name = 'WebhookError'
    this.code = code
  }
}

export interface WebhookOptions {
  /** Maximum difference between the clocks of sender and receiver in milliseconds. Default: 5 minutes. */
  toleranceMs?: number
  /** Returns the current time in epoch milliseconds. */
  now?: () => number
}

/** `Headers`, or the headers of Node and its frameworks. */
export type WebhookHeaders = Pick<Headers, 'get'> | Readonly<Record<string, string | readonly string[] | undefined>>

const defaultToleranceMs = 300_000

/**
 * Returns the event of a webhook that one of the secrets has signed (https://www.standardwebhooks.com). `payload` is the body
 * as received: a parser changes its bytes. While a secret is rotated, pass both. Deliveries of one event have the same
 * `event.id`.
 *
 * Rejects with a WebhookError, and with a TypeError for an invalid secret.
 */
export async function verifyWebhook(
  payload: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { toleranceMs = defaultToleranceMs, now = Date.now }: WebhookOptions = {},
): Promise<PorticoEvent> {
  const body = toBytes(payload)
  const id = headerOf(headers, 'webhook-id')
  const timestamp = headerOf(headers, 'webhook-timestamp')
  const signatures = headerOf(headers, 'webhook-signature')
  const keys = await Promise.all((typeof secrets === 'string' ? [secrets] : secrets).map(toKey))
  if (keys.length === 0) throw new TypeError('secrets: pass at least one secret')
  if (!(toleranceMs >= 0)) throw new TypeError(`toleranceMs: ${toleranceMs} must be at least 0`)
  const signed = concatenate(new TextEncoder().encode(`${id}.${timestamp}.`), body)
  const expected = await Promise.all(keys.map((key) => crypto.subtle.sign('HMAC', key, signed)))
  const found = signatures.split(' ').flatMap((each) => (each.startsWith('v1,') ? [fromBase64(each.slice(3))] : []))
  // No early end, which would show which secret is in use.
  const matches = expected.flatMap((one) => found.map((other) => isEqual(new Uint8Array(one), other)))
  if (!matches.includes(true))
    throw new WebhookError('WEBHOOK.SIGNATURE_INVALID', 'no signature matches: check the secret, and pass the raw body')
  assertRecent(timestamp, now(), toleranceMs)
  return parseEvent(body)
}

function toBytes(payload: unknown): Uint8Array {
  if (typeof payload === 'string') return new TextEncoder().encode(payload)
  if (payload instanceof Uint8Array) return payload
  if (payload instanceof ArrayBuffer) return new Uint8Array(payload)
  throw new TypeError('payload: pass the raw body as text or bytes, not the parsed one')
}

function headerOf(headers: WebhookHeaders, name: string): string {
  const value = isHeaders(headers)
    ? headers.get(name)
    : Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1]
  if (typeof value === 'string' && value !== '') return value
  throw new WebhookError('WEBHOOK.HEADER_MISSING', `the request has no header ${name}, or several`)
}

function isHeaders(headers: WebhookHeaders): headers is Pick<Headers, 'get'> {
  return typeof headers.get === 'function'
}

/** The message omits the secret. */
async function toKey(secret: string): Promise<CryptoKey> {
  const bytes = fromBase64(secret.replace(/^whsec_/, ''))
  if (!bytes || bytes.length === 0) throw new TypeError('secrets: a secret is `whsec_` and Base64')
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
}

function fromBase64(text: string) {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return null
  }
}

function concatenate(first: Uint8Array, second: Uint8Array) {
  const joined = new Uint8Array(first.length + second.length)
  joined.set(first)
  joined.set(second, first.length)
  return joined
}

/** Takes the same time for each signature of the right length. */
function isEqual(one: Uint8Array, other: Uint8Array | null): boolean {
  if (other?.length !== one.length) return false
  return one.reduce((difference, byte, index) => difference | (byte ^ (other[index] ?? 0)), 0) === 0
}

/** A request that somebody has recorded must not be accepted later. */
function assertRecent(timestamp: string, now: number, toleranceMs: number): void {
  if (!/^\d{1,12}$/.test(timestamp))
    throw new WebhookError('WEBHOOK.TIMESTAMP_INVALID', 'webhook-timestamp: must be whole seconds')
  const ageMs = now - Number(timestamp) * 1_000
  const seconds = Math.round(Math.abs(ageMs) / 1_000)
  if (ageMs > toleranceMs) throw new WebhookError('WEBHOOK.TIMESTAMP_TOO_OLD', `the request is ${seconds} s old`)
  if (-ageMs > toleranceMs)
    throw new WebhookError('WEBHOOK.TIMESTAMP_TOO_NEW', `the request is ${seconds} s in the future: check the clock`)
}

/** The signature shows that Portico has sent the event, whose data has the schema of its type. */
function parseEvent(body: Uint8Array): PorticoEvent {
  const invalid = () => new WebhookError('WEBHOOK.PAYLOAD_INVALID', 'the body is not a CloudEvent of Portico')
  let event: unknown
  try {
    event = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    throw invalid()
  }
  if (!isEvent(event)) throw invalid()
  return event
}

function isEvent(value: unknown): value is PorticoEvent {
  return (
    typeof value === 'object' &&
    value !== null &&
    'specversion' in value &&
    value.specversion === '1.0' &&
    'id' in value &&
    typeof value.id === 'string' &&
    'type' in value &&
    typeof value.type === 'string' &&
    'data' in value
  )
}
