import type { Code, InvalidField } from './codes.ts'
import type { WorkspaceAccess } from './request.ts'
import { wholeSeconds } from './scalars.ts'

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

/** Returns ACCESS.PASSKEY_REQUIRED. */
export function passkeyRequired(internal: string): Refusal {
  return new Refusal('ACCESS.PASSKEY_REQUIRED', { internal })
}

/** Throws ACCESS.PERMISSION_DENIED, or ACCESS.PASSKEY_REQUIRED if a session that was started with a passkey is allowed. */
export function assertAllowed(
  access: WorkspaceAccess,
  isAllowed: (access: Omit<WorkspaceAccess, 'withPasskey'>) => boolean,
  internal: string,
): void {
  if (isAllowed(access)) return
  throw access.withPasskey && isAllowed(access.withPasskey) ? passkeyRequired(internal) : denied(internal)
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

/** A dependency, such as Redis or the file storage, does not work. Its log lines have the reason, but no stack. */
export class DependencyFailure extends Error {}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The messages of an error and its causes, without the credentials of URLs. */
export function describeError(error: unknown): string {
  const messages: string[] = []
  for (let each = error; each !== undefined && each !== null; each = each instanceof Error ? each.cause : undefined) {
    const message = ownMessage(each)
    if (!messages.some((known) => known.includes(message))) messages.push(message)
  }
  return messages.join(': ').replaceAll(/\/\/[^/@\s]*@/g, '//')
}

const maxReasonLength = 300

/** Like `describeError`, in one line. */
export function reasonOf(error: unknown): string {
  return describeError(error).replaceAll(/\s+/g, ' ').trim().slice(0, maxReasonLength)
}

/** Returns the `code` of an error from Node, a library or the database, or undefined if there is none. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** If a host has several addresses, a failed connection is an AggregateError with an empty message. */
function ownMessage(error: unknown): string {
  return error instanceof AggregateError && error.message === ''
    ? error.errors.map(messageOf).join(', ')
    : messageOf(error)
}
