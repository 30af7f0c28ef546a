import type { Code } from '../kernel/index.ts'

/**
 * What can go wrong on this side of the wire; such an error has status 0 unless an answer did arrive. Of one that redirects
 * a browser hides the status too.
 */
export type ClientCode = 'CLIENT.NETWORK' | 'CLIENT.TIMEOUT' | 'CLIENT.INVALID_REPLY'

/** A refusal's code; `4010` and its like come from users/self, and a newer gateway may know codes that we do not. */
export type ErrorCode = Code | ClientCode | `${number}` | (string & Record<never, never>)

interface Facts {
  status: number
  code: ErrorCode
  message: string
  /** The id that both sides' logs know the request by. */
  requestId: string
  /** Seconds until another try makes sense; null where nothing was said of it. */
  retryAfter?: number | null
  cause?: unknown
}

/** Whatever a call ended with other than its reply: the gateway's refusal, or no usable answer at all. */
export class PorticoError extends Error {
  /** HTTP status; 0 where no answer arrived. */
  readonly status: number
  /** What a program decides by; a refusal's message is for people, in the client's locale. */
  readonly code: ErrorCode
  /** The id that both sides' logs know the request by; empty where it was the client that refused. */
  readonly requestId: string
  /** Seconds until another try makes sense; null where nothing was said of it. */
  readonly retryAfter: number | null

  /** By its name: a page of several front ends has several copies of this class, and one hands its client to another. */
  static override [Symbol.hasInstance](value: unknown): value is PorticoError {
    return value instanceof Error && value.name === 'PorticoError'
  }

  constructor({ status, code, message, requestId, retryAfter = null, cause }: Facts) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'PorticoError'
    this.status = status
    this.code = code
    this.requestId = requestId
    this.retryAfter = retryAfter
  }
}

/** Whether an error is a PorticoError, with one of these codes where any are given. */
export const isPorticoError = (error: unknown, ...codes: ErrorCode[]): error is PorticoError =>
  error instanceof PorticoError && (codes.length === 0 || codes.includes(error.code))

/** Whether it was the gateway that said so, and nothing that stands before it. */
export const isRefusal = (error: unknown): error is PorticoError =>
  isPorticoError(error) && !error.code.startsWith('CLIENT.')
