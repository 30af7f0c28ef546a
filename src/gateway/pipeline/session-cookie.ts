import { type Configuration, portalNames, settingsOfPortal } from '../../config/index.ts'
import { sessionCookieName } from '../../contract/headers.ts'
import { type Portal, Refusal } from '../../kernel/index.ts'
import type { Call } from './call.ts'

export interface SessionCookie {
  portal: Portal
  value: string
}

export interface SessionCookies {
  /**
   * Undefined without the cookie of the call's portal. Throws ACCESS.COOKIE_INVALID if there are two, if the value is
   * malformed, or if the request also has a token.
   */
  read(call: Pick<Call, 'headers' | 'portal'>): SessionCookie | undefined
  /** Returns the value of Set-Cookie (RFC 6265, section 4.1). Null deletes the cookie. */
  format(portal: Portal, value: string | null): string
}

/** 256 bits in base64url. */
const valuePattern = /^[A-Za-z0-9_-]{43}$/

export function createSessionCookies(
  settings: Pick<Configuration, 'publicUrl' | 'portals' | 'sessions'>,
): SessionCookies {
  const isSecure = new URL(settings.publicUrl).protocol === 'https:'
  const portals = portalNames(settings.portals)
  const names = new Map(portals.map((portal) => [portal, sessionCookieName(portal, isSecure)]))
  return {
    read: ({ headers, portal }) => {
      if (!headers.has('cookie')) return undefined
      const pairs = parsePairs(headers.cookies())
      const possible = portal === null ? portals : [portal]
      const found = possible.flatMap((each) =>
        pairs.filter(([name]) => name === names.get(each)).map(([, value]) => ({ portal: each, value })),
      )
      const [cookie] = found
      if (!cookie) return undefined
      if (found.length > 1) throw cookieInvalid('two session cookies')
      if (!valuePattern.test(cookie.value)) throw cookieInvalid('a malformed session cookie')
      if (headers.has('authorization')) throw cookieInvalid('a session cookie and a token')
      return cookie
    },
    format: (portal, value) => {
      const { sameSite, persistent } = settingsOfPortal(settings.portals, portal).cookie
      const maxAge = value === null ? 0 : persistent ? Math.floor(settings.sessions.absoluteMs / 1_000) : null
      return [
        `${sessionCookieName(portal, isSecure)}=${value ?? ''}`,
        'Path=/',
        'HttpOnly',
        `SameSite=${sameSite === 'lax' ? 'Lax' : 'Strict'}`,
        ...(isSecure ? ['Secure'] : []),
        ...(maxAge === null ? [] : [`Max-Age=${maxAge}`]),
      ].join('; ')
    },
  }
}

function parsePairs(header: string): [name: string, value: string][] {
  return header.split(';').map((pair) => {
    const at = pair.indexOf('=')
    return [trimBlanks(pair.slice(0, Math.max(0, at))), trimBlanks(pair.slice(at + 1))]
  })
}

/**
 * RFC 6265, section 5.2. `trim` also removes a no-break space, which hides the prefix `__Host-` from browsers, so that a
 * sub-domain could set the cookie. A pattern would need quadratic time for a header of blanks.
 */
function trimBlanks(text: string): string {
  let [from, to] = [0, text.length]
  while (from < to && isBlank(text[from])) from++
  while (from < to && isBlank(text[to - 1])) to--
  return text.slice(from, to)
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\t'
}

function cookieInvalid(internal: string): Refusal {
  return new Refusal('ACCESS.COOKIE_INVALID', { internal })
}
