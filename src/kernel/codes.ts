export type CodeTable = Readonly<Record<string, { readonly status: number }>>

/**
 * Each domain declares its own codes in its `contract.ts`. The public messages are in the owner's locales under
 * `refusal.<code>`.
 */
export const pipelineCodes = {
  'VALIDATION.INVALID_PARAMETER': { status: 400 },
  'SECURE_CHANNEL.INVALID_PAYLOAD': { status: 400 },
  'ACCESS.WORKSPACE_REQUIRED': { status: 400 },
  'ACCESS.COOKIE_INVALID': { status: 400 },
  'REQUEST.MALFORMED': { status: 400 },
  'ACCESS.TOKEN_MISSING': { status: 401 },
  'ACCESS.TOKEN_INVALID': { status: 401 },
  'ACCESS.PERMISSION_DENIED': { status: 403 },
  'ACCESS.PORTAL_MISMATCH': { status: 403 },
  'ACCESS.IP_NOT_ALLOWED': { status: 403 },
  'ACCESS.ORIGIN_NOT_ALLOWED': { status: 403 },
  'ACCESS.TICKET_INVALID': { status: 403 },
  'ACCESS.STEP_UP_REQUIRED': { status: 403 },
  'ACCESS.PASSKEY_REQUIRED': { status: 403 },
  'RESOURCE.NOT_FOUND': { status: 404 },
  'ROUTE.NOT_FOUND': { status: 404 },
  'ROUTE.METHOD_NOT_ALLOWED': { status: 405 },
  'STATE.CONFLICT': { status: 409 },
  'REQUEST.TIMEOUT': { status: 408 },
  'REQUEST.IN_PROGRESS': { status: 409 },
  'REQUEST.TOO_LARGE': { status: 413 },
  'REQUEST.UNSUPPORTED_MEDIA_TYPE': { status: 415 },
  'FILE.RANGE_NOT_SATISFIABLE': { status: 416 },
  'REQUEST.ID_REUSED': { status: 422 },
  'WORKSPACE.NOT_ACTIVE': { status: 422 },
  'REQUEST.UPGRADE_REQUIRED': { status: 426 },
  'ACCESS.RATE_LIMITED': { status: 429 },
  'SYSTEM.INTERNAL_ERROR': { status: 500 },
  'SYSTEM.NOT_IMPLEMENTED': { status: 501 },
  'SYSTEM.UPSTREAM_INVALID_RESPONSE': { status: 502 },
  'SYSTEM.UNAVAILABLE': { status: 503 },
  'SYSTEM.UPSTREAM_TIMEOUT': { status: 504 },
} as const satisfies CodeTable

declare global {
  /**
   * Code tables of domains outside this package. Add one with `declare global { interface PorticoCodes { ... } }`.
   */
  interface PorticoCodes {}
}

/**
 * Code tables by owner. Declaration merging adds a table, so that an undeclared code does not compile: `declare module
 * '../../kernel/codes.ts' { interface CodesByOwner { transfers: typeof codes } }`.
 */
export interface CodesByOwner extends PorticoCodes {
  pipeline: typeof pipelineCodes
}

type KeyOf<T> = T extends unknown ? keyof T & string : never

export type Code = KeyOf<CodesByOwner[keyof CodesByOwner]>

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
