import type { PortalConfiguration } from '../../config/index.ts'
import type { Portal } from '../../kernel/index.ts'
import { containsAddress, parseRange } from '../../platform/ip-ranges.ts'
import type { Call } from './call.ts'
import { clientAddress, normalizeAddress } from './client-address.ts'

/** The part of a request that its client address is resolved from and written to. */
export type ClientFacts = Pick<Call, 'headers' | 'peer' | 'edgeTrusted' | 'clientIp'>

/** Sets `edgeTrusted` and `clientIp` of a request by the edge configuration of a portal. */
export type ResolveClient = (request: ClientFacts, portal: Portal) => void

const maxCachedPeers = 10_000

const createTrustCheck = (ranges: string[]): ((address: string) => boolean) => {
  const parsed = ranges.map(parseRange)
  const cache = new Map<string, boolean>()
  return (address) => {
    let isTrusted = cache.get(address)
    if (isTrusted === undefined) {
      isTrusted = parsed.some((range) => containsAddress(range, address))
      if (cache.size < maxCachedPeers) cache.set(address, isTrusted)
    }
    return isTrusted
  }
}

/**
 * Returns the resolver of client addresses. Headers of the edge (CF-Connecting-IP, or X-Forwarded-For without
 * Cloudflare) count only from a trusted proxy; from any other peer they count as absent.
 */
export function createClientResolver(portals: Record<Portal, PortalConfiguration>): ResolveClient {
  const isTrusted = {
    CONSUMER: createTrustCheck(portals.CONSUMER.edge.trustedProxies),
    SYSTEM: createTrustCheck(portals.SYSTEM.edge.trustedProxies),
  }
  return (request, portal) => {
    const peer = normalizeAddress(request.peer)
    request.edgeTrusted = isTrusted[portal](peer)
    request.clientIp = request.edgeTrusted
      ? clientAddress(portals[portal].edge.kind, request.headers, peer, isTrusted[portal])
      : peer
  }
}
