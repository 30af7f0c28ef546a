import type { PortalConfiguration } from '../config/index.ts'
import type { Portal } from '../kernel/index.ts'
import { covers, parseRange } from '../platform/ip-ranges.ts'
import { clientAddress, normalAddress } from './address.ts'
import type { Call } from './call.ts'

/** Sets what the edge of a portal tells of a call. */
export type EdgeView = (call: Call, portal: Portal) => void

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
  return (call, portal) => {
    const peer = normalAddress(call.peer)
    call.edgeTrusted = trust[portal](peer)
    call.clientIp = call.edgeTrusted
      ? clientAddress(portals[portal].edge.kind, call.headers, peer, trust[portal])
      : peer
  }
}
