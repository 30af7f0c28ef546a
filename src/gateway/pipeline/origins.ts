import type { Configuration } from '../../config/index.ts'
import { type Portal, portals, Refusal } from '../../kernel/index.ts'
import type { Call } from './call.ts'

export interface AllowedOrigins {
  /** Whether a page of the origin may call the portal. Null means either portal. */
  allows(origin: string, portal: Portal | null): boolean
  /**
   * For a request that a cookie authenticates, or that sets one. Browsers send `Sec-Fetch-Site` with every request, and
   * scripts cannot set it. Throws ACCESS.ORIGIN_NOT_ALLOWED.
   */
  assertOwnPage(call: Pick<Call, 'headers' | 'portal' | 'handshake' | 'ticket'>): void
}

export function createAllowedOrigins(settings: Pick<Configuration, 'publicUrl' | 'portals'>): AllowedOrigins {
  const hostsOf = (portal: Portal) => settings.portals[portal].hosts
  const own = new URL(settings.publicUrl)
  const foreignHosts: Record<Portal, readonly string[]> = { CONSUMER: hostsOf('SYSTEM'), SYSTEM: hostsOf('CONSUMER') }
  const originsOf = (portal: Portal) =>
    new Set([
      ...(foreignHosts[portal].includes(own.hostname) ? [] : [own.origin]),
      ...hostOrigins(settings, portal),
      ...settings.portals[portal].origins,
    ])
  const allowed: Record<Portal, ReadonlySet<string>> = {
    CONSUMER: originsOf('CONSUMER'),
    SYSTEM: originsOf('SYSTEM'),
  }
  const allows = (origin: string, portal: Portal | null): boolean =>
    (portal === null ? portals : [portal]).some((each) => allowed[each].has(origin))
  const hasOthers = (portal: Portal | null): boolean =>
    (portal === null ? portals : [portal]).some((each) =>
      settings.portals[each].origins.some((it) => it !== own.origin),
    )
  return {
    allows,
    assertOwnPage: ({ headers, portal, handshake, ticket }) => {
      const [site, origin] = [headers.optional('sec-fetch-site'), headers.optional('origin')]
      // A GET of a page under the other portal's name has no Origin.
      const name = hostNameOf(headers.optional('host'))
      if (portal !== null && foreignHosts[portal].includes(name)) throw notAllowed(`host ${name}`)
      if (origin !== undefined && !allows(origin, portal)) throw notAllowed(`origin ${origin}`)
      // Not all browsers send Sec-Fetch-Site with a WebSocket handshake, but all send Origin.
      if (site === 'same-origin' || (handshake && site === undefined && origin !== undefined)) return
      // Links and images send no Origin, but only a listed page can read the reply that contains the ticket (CORS).
      const isListed = origin === undefined ? ticket !== null && hasOthers(portal) : origin !== own.origin
      if (!isListed || (site !== 'same-site' && site !== 'cross-site')) throw notAllowed(`sec-fetch-site ${site}`)
    },
  }
}

/** The origins of `hosts`. They have the scheme and the port of `publicUrl`. */
export function hostOrigins({ publicUrl, portals }: Pick<Configuration, 'publicUrl' | 'portals'>, portal: Portal) {
  return portals[portal].hosts.map((name) => {
    const url = new URL(publicUrl)
    url.hostname = name
    return url.origin
  })
}

/** The URLs under which clients reach a portal, or any portal if it is null. They have no slash at the end. */
export function publicUrlsOf(
  settings: Pick<Configuration, 'publicUrl' | 'portals'>,
): (portal: Portal | null) => readonly string[] {
  const urlsOf = (portal: Portal): string[] => [
    ...new Set([settings.publicUrl.replace(/\/$/, ''), ...hostOrigins(settings, portal)]),
  ]
  const byPortal = { CONSUMER: urlsOf('CONSUMER'), SYSTEM: urlsOf('SYSTEM') }
  const all = [...new Set([...byPortal.CONSUMER, ...byPortal.SYSTEM])]
  return (portal) => (portal === null ? all : byPortal[portal])
}

/** Without the port, in lower case. */
export function hostNameOf(host = ''): string {
  return host.replace(/:\d*$/, '').toLowerCase()
}

function notAllowed(internal: string): Refusal {
  return new Refusal('ACCESS.ORIGIN_NOT_ALLOWED', { internal })
}
