import { type Configuration, type Portals, portalNames, settingsOfPortal } from '../../config/index.ts'
import { type Portal, Refusal } from '../../kernel/index.ts'
import type { Call } from './call.ts'

export interface AllowedOrigins {
  /** Whether a page of the origin may call the portal. Null means any portal. */
  allows(origin: string, portal: Portal | null): boolean
  /**
   * For a request that a cookie authenticates, or that sets one. Browsers send `Sec-Fetch-Site` with every request, and
   * scripts cannot set it. Throws ACCESS.ORIGIN_NOT_ALLOWED.
   */
  assertOwnPage(call: Pick<Call, 'headers' | 'portal' | 'handshake' | 'ticket'>): void
}

export function createAllowedOrigins(settings: Pick<Configuration, 'publicUrl' | 'portals'>): AllowedOrigins {
  const own = new URL(settings.publicUrl)
  const names = portalNames(settings.portals)
  const allowed = new Map(names.map((portal) => [portal, originsOf(settings, portal, own)]))
  const foreignHosts = new Map(names.map((portal) => [portal, hostsOfOthers(settings.portals, portal)]))
  const allows = (origin: string, portal: Portal | null): boolean =>
    (portal === null ? names : [portal]).some((each) => allowed.get(each)?.has(origin))
  const hasOthers = (portal: Portal | null): boolean =>
    (portal === null ? names : [portal]).some((each) =>
      settingsOfPortal(settings.portals, each).origins.some((it) => it !== own.origin),
    )
  return {
    allows,
    assertOwnPage: ({ headers, portal, handshake, ticket }) => {
      const [site, origin] = [headers.optional('sec-fetch-site'), headers.optional('origin')]
      // A GET of a page under another portal's name has no Origin.
      const name = hostNameOf(headers.optional('host'))
      if (portal !== null && foreignHosts.get(portal)?.includes(name)) throw notAllowed(`host ${name}`)
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
  return settingsOfPortal(portals, portal).hosts.map((name) => {
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
  const byPortal = new Map(portalNames(settings.portals).map((portal) => [portal, urlsOf(portal)]))
  const all = [...new Set([...byPortal.values()].flat())]
  return (portal) => (portal === null ? all : (byPortal.get(portal) ?? []))
}

/** The `hosts` of all other portals. */
export function hostsOfOthers(portals: Portals, portal: Portal): string[] {
  return portalNames(portals)
    .filter((each) => each !== portal)
    .flatMap((each) => settingsOfPortal(portals, each).hosts)
}

/** Without the port, in lower case. */
export function hostNameOf(host = ''): string {
  return host.replace(/:\d*$/, '').toLowerCase()
}

function originsOf(
  settings: Pick<Configuration, 'publicUrl' | 'portals'>,
  portal: Portal,
  own: URL,
): ReadonlySet<string> {
  const isForeign = hostsOfOthers(settings.portals, portal).includes(own.hostname)
  return new Set([
    ...(isForeign ? [] : [own.origin]),
    ...hostOrigins(settings, portal),
    ...settingsOfPortal(settings.portals, portal).origins,
  ])
}

function notAllowed(internal: string): Refusal {
  return new Refusal('ACCESS.ORIGIN_NOT_ALLOWED', { internal })
}
