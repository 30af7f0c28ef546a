import type { PortalConfiguration } from '../config/index.ts'
import type { Portal } from '../kernel/index.ts'
import { covers, parseRange } from '../platform/addresses/index.ts'
import { clientAddress, normalAddress } from './address.ts'
import type { Call } from './call.ts'

/** The part of a request that the client address is resolved from and written to. */
export type ClientFacts = Pick<Call, 'headers' | 'peer' | 'edgeTrusted' | 'clientIp'>

/** Sets the client address of a request as a portal's edge reports it. */
export type EdgeView = (request: ClientFacts, portal: Portal) => void

const trusts = (ranges: string[]): ((address: string) => boolean) => {
  const parsed = ranges.map(parseRange)
  const known = new Map<string, boolean>()
  return (address) => {
    let trusted = known.get(address)
    if (trusted === undefined) {
      trusted = parsed.some((range) => covers(range, address))
      if (known.size < 10_000) known.set(address, trusted)
    }
    return trusted
  }
}

/**
 * Who is really at the other end. What the edge says (CF-Connecting-IP, or X-Forwarded-For where there is no
 * Cloudflare) is believed only from a trusted peer; from any other one it counts as absent.
 */
export const createEdgeView = (portals: Record<Portal, PortalConfiguration>): EdgeView => {
  const trust = {
    CONSUMER: trusts(portals.CONSUMER.edge.trustedProxies),
    SYSTEM: trusts(portals.SYSTEM.edge.trustedProxies),
  }
  return (request, portal) => {
    const peer = normalAddress(request.peer)
    request.edgeTrusted = trust[portal](peer)
    request.clientIp = request.edgeTrusted
      ? clientAddress(portals[portal].edge.kind, request.headers, peer, trust[portal])
      : peer
  }
}
