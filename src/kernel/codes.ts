/**
 * Every refusal that Portico can answer, with its HTTP status: interface.md section 7 and the codes beyond it.
 * The public sentence of a code stands in config/locales, one per language.
 */
export const codes = {
  'VALIDATION.INVALID_PARAMETER': { status: 400 },
  'SECURE_CHANNEL.INVALID_PAYLOAD': { status: 400 },
  'ACCESS.WORKSPACE_REQUIRED': { status: 400 },
  'REQUEST.MALFORMED': { status: 400 },
  'ACCESS.TOKEN_MISSING': { status: 401 },
  'ACCESS.TOKEN_INVALID': { status: 401 },
  'AUTH.INVALID_CREDENTIALS': { status: 401 },
  'AUTH.CODE_INVALID': { status: 401 },
  'AUTH.CLIENT_MISMATCH': { status: 401 },
  'ACCESS.PERMISSION_DENIED': { status: 403 },
  'ACCESS.PORTAL_MISMATCH': { status: 403 },
  'ACCESS.IP_NOT_ALLOWED': { status: 403 },
  'ACCESS.STEP_UP_REQUIRED': { status: 403 },
  'AUTH.PENDING_APPROVAL': { status: 403 },
  'AUTH.REGISTRATION_CLOSED': { status: 403 },
  'AUTH.SESSION_NOT_FOUND': { status: 404 },
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
  'WALLET.INSUFFICIENT_FUNDS': { status: 422 },
  'WALLET.NOT_ACTIVE': { status: 422 },
  'WALLET.LIMIT_EXCEEDED': { status: 422 },
  'EXCHANGE.RATE_UNAVAILABLE': { status: 422 },
  'EXCHANGE.QUOTE_UNUSABLE': { status: 422 },
  'CHANNEL.NOT_AVAILABLE': { status: 422 },
  'WORKSPACE.LAST_OWNER': { status: 422 },
  'WORKSPACE.NOT_ACTIVE': { status: 422 },
  'ACCESS.RATE_LIMITED': { status: 429 },
  'SYSTEM.INTERNAL_ERROR': { status: 500 },
  'SYSTEM.NOT_IMPLEMENTED': { status: 501 },
  'SYSTEM.UPSTREAM_INVALID_RESPONSE': { status: 502 },
  'SYSTEM.UNAVAILABLE': { status: 503 },
  'SYSTEM.UPSTREAM_TIMEOUT': { status: 504 },
} as const satisfies Record<string, { status: number }>

export type Code = keyof typeof codes

export const isCode = (text: string): text is Code => Object.hasOwn(codes, text)

/** users/self speaks numbers: the HTTP status with a zero, 4010 for 401 (interface.md section 7). */
export const numericCode = (code: Code): string => `${codes[code].status}0`
