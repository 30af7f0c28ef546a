import type { Code, InvalidField } from '../kernel/index.ts'

/** Errors of the client. Their status is 0 without a response, or if the browser hides a redirect. */
export type ClientCode =
  | 'CLIENT.NETWORK'
  | 'CLIENT.TIMEOUT'
  | 'CLIENT.INVALID_REPLY'
  | 'CLIENT.SIGNED_IN_ELSEWHERE'
  | 'CLIENT.REQUEST_ID_REPLACED'
  | 'CLIENT.PASSKEY_CANCELLED'
  | 'CLIENT.PASSKEY_ABORTED'
  | 'CLIENT.PASSKEY_EXISTS'
  | 'CLIENT.PASSKEY_UNAVAILABLE'

/** users/self sends numbers such as `4010`. A newer gateway may send unknown codes. */
export type ErrorCode = Code | ClientCode | `${number}` | (string & Record<never, never>)

interface ErrorFacts {
  status: number
  code: ErrorCode
  message: string
  requestId: string
  retryAfter?: number | null
  fields?: readonly InvalidField[]
  oldestCursor?: string | null
  cause?: unknown
}

/** A refusal of the gateway, or no usable response. */
export class PorticoError extends Error {
  /** HTTP status; 0 without a response. */
  readonly status: number
  /** The code for programs. `message` is for people. */
  readonly code: ErrorCode
  /** The id in the logs of both sides, which repeats a command. Empty if the client itself rejected the call. */
  readonly requestId: string
  /** Seconds to wait before a retry, or null. */
  readonly retryAfter: number | null
  /** Every invalid input that the gateway has found. Empty for other errors. */
  readonly fields: readonly InvalidField[]
  /** After EVENT.CURSOR_EXPIRED, the cursor of the oldest event that is still stored. Otherwise null. */
  readonly oldestCursor: string | null

  /** Compares names, because a page may load several copies of this class. */
  static override [Symbol.hasInstance](value: unknown): value is PorticoError {
    return value instanceof Error && value.name === 'PorticoError'
  }

  constructor(facts: ErrorFacts) {
    const { status, code, message, requestId, retryAfter = null, fields = [], oldestCursor = null, cause } = facts
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'PorticoError'
    this.status = status
    this.code = code
    this.requestId = requestId
    this.retryAfter = retryAfter
    this.fields = fields
    this.oldestCursor = oldestCursor
  }
}

/** Whether an error is a PorticoError, with one of the codes if any are given. */
export function isPorticoError(error: unknown, ...codes: ErrorCode[]): error is PorticoError {
  return error instanceof PorticoError && (codes.length === 0 || codes.includes(error.code))
}

/** False if the client or a proxy refused the call. */
export function isRefusal(error: unknown): error is PorticoError {
  return isPorticoError(error) && !error.code.startsWith('CLIENT.')
}

/** An error of the client itself, without a response. */
export function clientError(code: ClientCode, message: string, cause?: unknown): PorticoError {
  return new PorticoError({ status: 0, code, message, requestId: '', cause })
}

export function passkeysUnavailable(cause?: unknown): PorticoError {
  return clientError('CLIENT.PASSKEY_UNAVAILABLE', 'passkeys are not available here', cause)
}
