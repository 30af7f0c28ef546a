import { type Code, codes } from './codes.ts'
import { wholeSeconds } from './time.ts'

export interface RefusalDetail {
  /** What an operator needs to know; it reaches the log alone. */
  internal?: string
  /** The input at fault: shown to the caller inside the public sentence. Names only, never values. */
  field?: string
  /** Seconds until another try makes sense. */
  retryAfter?: number
  /** Extra response headers, such as Allow. */
  headers?: Record<string, string>
  /** Documented behaviour that answers with a fault's status: logged at info, not counted as a fault. */
  documented?: boolean
  cause?: unknown
}

/** The one way to say no. The code fixes the status and the public sentence; all else is for the log. */
export class Refusal extends Error {
  readonly code: Code
  readonly detail: RefusalDetail

  constructor(code: Code, detail: RefusalDetail = {}) {
    super(detail.internal ?? code, { cause: detail.cause })
    this.name = 'Refusal'
    this.code = code
    this.detail = detail
  }

  get status(): number {
    return codes[this.code].status
  }
}

/** A refusal for an input that is not what the contract asks for. */
export const invalid = (field: string, internal?: string): Refusal =>
  new Refusal('VALIDATION.INVALID_PARAMETER', { field, internal: internal ?? `invalid ${field}` })

export const notFound = (internal?: string): Refusal => new Refusal('RESOURCE.NOT_FOUND', internal ? { internal } : {})

/** A refusal of what is let in again after a wait. */
export const rateLimited = (waitMs: number, internal: string): Refusal =>
  new Refusal('ACCESS.RATE_LIMITED', { internal, retryAfter: wholeSeconds(waitMs) })
