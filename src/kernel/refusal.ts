import type { Code } from './codes.ts'
import { wholeSeconds } from './scalars.ts'

/** The limit that a caller exceeded, for the RateLimit response headers. */
export interface ExceededLimit {
  name: string
  limit: number
  windowMs: number
  resetMs: number
}

export interface RefusalDetail {
  /** A detail for operators. It is written to the log only. */
  internal?: string
  /** The name of the invalid input. It is shown in the public sentence; the value never is. */
  field?: string
  /** Number of seconds to wait before a retry. */
  retryAfter?: number
  /** The exceeded limit, if it is not one of the pipeline's own. */
  limit?: ExceededLimit
  /** Extra response headers, such as Allow. */
  headers?: Record<string, string>
  /** Whether a 5xx status is documented behavior. It is then logged at level info and not counted as a fault. */
  documented?: boolean
  cause?: unknown
}

const brand = Symbol.for('portico.Refusal')

/** The only way to reject a request. The code determines the status and the public sentence; the detail is logged. */
export class Refusal extends Error {
  readonly code: Code
  readonly detail: RefusalDetail

  /** Marks the refusals of every copy of the package in the process. */
  readonly [brand] = true

  /** Whether a value is a refusal. Refusals of other copies of the package count, too. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && brand in value
  }

  constructor(code: Code, detail: RefusalDetail = {}) {
    super(detail.internal ?? code, { cause: detail.cause })
    this.name = 'Refusal'
    this.code = code
    this.detail = detail
  }
}

/** VALIDATION.INVALID_PARAMETER for one input. */
export const invalid = (field: string, internal?: string): Refusal =>
  new Refusal('VALIDATION.INVALID_PARAMETER', { field, internal: internal ?? `invalid ${field}` })

/** RESOURCE.NOT_FOUND. */
export const notFound = (internal?: string): Refusal => new Refusal('RESOURCE.NOT_FOUND', internal ? { internal } : {})

/** ACCESS.RATE_LIMITED with Retry-After, and the RateLimit headers of the exceeded limit if one is given. */
export const rateLimited = (waitMs: number, internal: string, by?: Omit<ExceededLimit, 'resetMs'>): Refusal => {
  const detail = { internal, retryAfter: wholeSeconds(waitMs) }
  return new Refusal('ACCESS.RATE_LIMITED', by ? { ...detail, limit: { ...by, resetMs: waitMs } } : detail)
}

/** Returns the message of a thrown value, which may be anything. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Returns the `code` of an error from Node, a library or the database; undefined without one. */
export const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
