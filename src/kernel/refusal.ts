import type { Code } from './codes.ts'
import { wholeSeconds } from './scalars.ts'

/** An input that the gateway refuses. */
export interface InvalidField {
  readonly name: string
  /** For programs, such as `missing`, `unknown`, `too_small` or `invalid_format`. */
  readonly reason: string
}

/** Proxies limit the length of a response's head. */
const maxFields = 20
const maxHeaderLength = 4_096

const member = /^(?:"(?<quoted>[\w.$-]{1,64})"|(?<token>[A-Za-z][\w.$-]{0,63}));reason=(?<reason>[a-z_]{1,32})$/

/** For the RateLimit response headers. */
export interface ExceededLimit {
  name: string
  limit: number
  windowMs: number
  resetMs: number
}

export interface RefusalDetail {
  /** A detail for operators. Appears only in the log. */
  internal?: string
  /** The code of an upstream's refusal that the gateway does not relay. Appears only in the log. */
  upstreamCode?: string
  /** Name of the invalid input. The public message shows it, but never the value. */
  field?: string
  /** Media types that the field can have. The message names them, and the header Accept. */
  accepts?: readonly string[]
  /** Every invalid input, for the header `X-Portico-Fields`. Default: `field`. */
  fields?: readonly InvalidField[]
  /** Seconds to wait before a retry. */
  retryAfter?: number
  /** Set if the pipeline did not count the limit itself. */
  limit?: ExceededLimit
  /** Extra response headers, such as Allow. */
  headers?: Record<string, string>
  /** A documented 5xx status is logged at level info and does not count as a fault. */
  documented?: boolean
  cause?: unknown
}

const brand = Symbol.for('portico.Refusal')

/** The only way to reject a request. The code determines the status and the public message. */
export class Refusal extends Error {
  readonly code: Code
  readonly detail: RefusalDetail

  /** Lets instanceof accept refusals of other copies of this package. */
  readonly [brand] = true

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

/** Returns the message of the error that caused a 500, for developers only: it can contain data of the request. */
export function thrownMessage({ code, detail: { cause } }: Refusal): string | undefined {
  return code === 'SYSTEM.INTERNAL_ERROR' && cause !== undefined ? messageOf(cause) : undefined
}

/** Returns VALIDATION.INVALID_PARAMETER for one input. `reason` is for `X-Portico-Fields`. Default: `invalid`. */
export function invalid(field: string, internal?: string, reason?: string): Refusal {
  const fields = reason === undefined ? {} : { fields: [{ name: field, reason }] }
  return new Refusal('VALIDATION.INVALID_PARAMETER', { field, internal: internal ?? `invalid ${field}`, ...fields })
}

/** Returns RESOURCE.NOT_FOUND. */
export function notFound(internal?: string): Refusal {
  return new Refusal('RESOURCE.NOT_FOUND', internal ? { internal } : {})
}

/** Returns STATE.CONFLICT. The message names `field`, whose value another resource has. */
export function conflict(internal: string, field?: string): Refusal {
  return new Refusal('STATE.CONFLICT', { internal, ...(field !== undefined && { field }) })
}

/** Returns ACCESS.PERMISSION_DENIED. */
export function denied(internal: string): Refusal {
  return new Refusal('ACCESS.PERMISSION_DENIED', { internal })
}

/** Throws the refusal without a value. Default: RESOURCE.NOT_FOUND. */
export function assertFound<T>(
  found: T | null | undefined,
  internal: string,
  refuse: (internal: string) => Refusal = notFound,
): T {
  if (found === undefined || found === null) throw refuse(internal)
  return found
}

/** Adds RateLimit headers if the limit is given. */
export function rateLimited(waitMs: number, internal: string, by?: Omit<ExceededLimit, 'resetMs'>): Refusal {
  const detail = { internal, retryAfter: wholeSeconds(waitMs) }
  return new Refusal('ACCESS.RATE_LIMITED', by ? { ...detail, limit: { ...by, resetMs: waitMs } } : detail)
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Returns the `code` of an error from Node, a library or the database, or undefined if there is none. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/**
 * An RFC 9651 list of at most 20 fields. Names that are not tokens, such as those that start with a digit, are strings.
 * Omits other names and reasons, which a handler could have taken from a request.
 */
export function formatInvalidFields(fields: readonly InvalidField[]): string {
  return fields
    .map(({ name, reason }) => `${/^[A-Za-z]/.test(name) ? name : `"${name}"`};reason=${reason}`)
    .filter((text) => member.test(text))
    .slice(0, maxFields)
    .join(', ')
}

/** Empty if the header is not in the form of `formatInvalidFields`. */
export function parseInvalidFields(header: string): InvalidField[] {
  if (header === '' || header.length > maxHeaderLength) return []
  const fields = header.split(/ *, */).map((text) => member.exec(text)?.groups)
  if (fields.length > maxFields) return []
  return fields.every((found) => found !== undefined)
    ? fields.map(({ quoted, token, reason = '' }) => ({ name: quoted ?? token ?? '', reason }))
    : []
}
