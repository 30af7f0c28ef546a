import { fixedPortals, type Portal } from '../kernel/index.ts'
import { idempotencyKeyPattern } from './header-values.ts'

export type HeaderSchema = {
  type: 'string'
  minLength?: number
  maxLength?: number
  pattern?: string
  enum?: string[]
}

export interface HeaderDefinition {
  readonly name: string
  readonly field: string
  readonly schema: HeaderSchema
  /** Whether a value matches the schema. */
  readonly accepts: (value: string) => boolean
}

export const headers = {
  portalAccessCode: define('X-PORTAL-ACCESS-CODE'),
  requestId: define('X-Request-Id', visible(128)),
  idempotencyKey: define('Idempotency-Key', { type: 'string', pattern: idempotencyKeyPattern }),
  clientHash: define('X-Client-Hash', visible(256)),
  /** RFC 9449. */
  dpop: define('DPoP'),
  forwardedProto: define('X-Forwarded-Proto', one('https')),
  connectingIp: define('CF-Connecting-IP'),
  ray: define('Cf-Ray', visible(64)),
  ipCountry: define('cf-ipcountry', { type: 'string', pattern: '^[A-Za-z0-9]{2}$' }),
  locale: define('X-LOCALE', { type: 'string', minLength: 1, maxLength: 64, pattern: '^[ -~]+$' }),
  /** The machine chain's X-LOCALE, which accepts any value. */
  machineLocale: define('X-LOCALE'),
  acceptLanguage: define('Accept-Language'),
  workspaceId: define('X-Workspace-Id'),
  channelSession: define('X-Secure-Channel-Session-Id'),
  /** Alias of `channelSession` for the operation that closes a channel session. */
  shortChannelSession: define('X-SC-Session-Id'),
  channelReply: define('X-Secure-Channel-Reply', one('encrypted')),
  socketProtocol: define('Sec-WebSocket-Protocol'),
  range: define('Range'),
  ifNoneMatch: define('If-None-Match'),
  ifRange: define('If-Range'),
  lastEventId: define('Last-Event-ID', { ...visible(256), minLength: 0, pattern: '^[ -~]*$' }),
} as const

/** Some browsers refuse the prefix and `Secure` without TLS, which only development lacks (RFC 6265bis, 4.1.3.2). */
export function sessionCookieName(portal: Portal, isSecure: boolean): string {
  return `${isSecure ? '__Host-' : ''}portico-${portal.toLowerCase()}`
}

/** Returns a Cookie header with the names of all portals. A gateway reads the one of its public URL and of the portal. */
export function everySessionCookie(value: string, portals: readonly Portal[] = fixedPortals): string {
  return portals
    .flatMap((portal) => [sessionCookieName(portal, true), sessionCookieName(portal, false)])
    .map((name) => `${name}=${value}`)
    .join('; ')
}

function define(name: string, schema: HeaderSchema = { type: 'string' }): HeaderDefinition {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern, enum: allowed } = schema
  const form = pattern === undefined ? null : new RegExp(pattern)
  return {
    name,
    field: name.toLowerCase(),
    schema,
    accepts: (value) =>
      value.length >= minLength &&
      value.length <= maxLength &&
      (form === null || form.test(value)) &&
      (allowed === undefined || allowed.includes(value)),
  }
}

/** Visible ASCII is safe to echo and to log. */
function visible(maxLength: number): HeaderSchema {
  return { type: 'string', minLength: 1, maxLength, pattern: '^[!-~]+$' }
}
/**
 * Some client generators drop operations whose header is a `const`.
 */
function one(value: string): HeaderSchema {
  return { type: 'string', enum: [value] }
}
