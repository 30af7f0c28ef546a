import type { Code } from '../kernel/index.ts'

/** Errors of the client. Their status is 0 if no response arrived. Browsers also hide the status of a redirect. */
export type ClientCode = 'CLIENT.NETWORK' | 'CLIENT.TIMEOUT' | 'CLIENT.INVALID_REPLY'

/** A refusal code. users/self sends numbers such as `4010`, and a newer gateway can send codes that this client does not know. */
export type ErrorCode = Code | ClientCode | `${number}` | (string & Record<never, never>)

interface ErrorFacts {
  status: number
  code: ErrorCode
  message: string
  requestId: string
  retryAfter?: number | null
  cause?: unknown
}

/** The failure of a call: a refusal of the gateway, or no usable response. */
export class PorticoError extends Error {
  /** HTTP status; 0 without a response. */
  readonly status: number
  /** The code for programs. A refusal's message is for people, in the client's locale. */
  readonly code: ErrorCode
  /** The request id in the logs of both sides. Empty if the client itself rejected the call. */
  readonly requestId: string
  /** Number of seconds to wait before a retry. Null if the response does not contain it. */
  readonly retryAfter: number | null

  /** Compares names, because a page of several front ends can load several copies of this class. */
  static override [Symbol.hasInstance](value: unknown): value is PorticoError {
    return value instanceof Error && value.name === 'PorticoError'
  }

  constructor({ status, code, message, requestId, retryAfter = null, cause }: ErrorFacts) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'PorticoError'
    this.status = status
    this.code = code
    this.requestId = requestId
    this.retryAfter = retryAfter
  }
}

/** Whether an error is a PorticoError. If codes are given, it must have one of them. */
export const isPorticoError = (error: unknown, ...codes: ErrorCode[]): error is PorticoError =>
  error instanceof PorticoError && (codes.length === 0 || codes.includes(error.code))

/** Whether the gateway refused the call. False if the client or a proxy did. */
export const isRefusal = (error: unknown): error is PorticoError =>
  isPorticoError(error) && !error.code.startsWith('CLIENT.')
