import type { Code } from './codes.ts'
import { wholeSeconds } from './time.ts'

/** A limit that is used up, as an answer's RateLimit fields tell it. */
export interface ExceededLimit {
  name: string
  limit: number
  windowMs: number
  resetMs: number
}

export interface RefusalDetail {
  /** What an operator needs to know; it reaches the log alone. */
  internal?: string
  /** The input at fault: shown to the caller inside the public sentence. Names only, never values. */
  field?: string
  /** Seconds until another try makes sense. */
  retryAfter?: number
  /** The limit that refuses, where it is none of the pipeline's, which the answer would speak of else. */
  limit?: ExceededLimit
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
}

/** A refusal for an input that is not what the contract asks for. */
export const invalid = (field: string, internal?: string): Refusal =>
  new Refusal('VALIDATION.INVALID_PARAMETER', { field, internal: internal ?? `invalid ${field}` })

export const notFound = (internal?: string): Refusal => new Refusal('RESOURCE.NOT_FOUND', internal ? { internal } : {})

/** A refusal of what is let in again after a wait, by a limit that the caller is told of. */
export const rateLimited = (waitMs: number, internal: string, by?: Omit<ExceededLimit, 'resetMs'>): Refusal => {
  const waits = { internal, retryAfter: wholeSeconds(waitMs) }
  return new Refusal('ACCESS.RATE_LIMITED', by ? { ...waits, limit: { ...by, resetMs: waitMs } } : waits)
}

/** What an error says of itself; anything may be thrown. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** The code that Node, a library or the store has given an error, if it has. */
export const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
