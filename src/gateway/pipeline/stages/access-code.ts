import { hash, timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { PortalConfiguration } from '../../../config/index.ts'
import { headers } from '../../../contract/headers.ts'
import { portals as names, type Portal, portalOfChain, Refusal } from '../../../kernel/index.ts'
import type { Stage } from '../call.ts'
import type { ResolveClient } from '../client-address.ts'
import { takeTicket } from '../tickets.ts'

const maxCachedLength = 256

/** A ticket takes the place of the code. Throws ACCESS.PORTAL_MISMATCH or ACCESS.TICKET_INVALID. */
export function accessCodeStage(portals: Record<Portal, PortalConfiguration>, resolveClient: ResolveClient): Stage {
  const portalOf = createPortalLookup(portals)
  const { field } = headers.portalAccessCode
  return (call) => {
    const { perimeter, portal: expected } = call.chain
    takeTicket(call)
    if (perimeter !== 'portal' || call.ticket) {
      call.portal = portalOfChain(call.chain)
      return
    }
    const named = call.headers.isRepeated(field) ? null : portalOf(call.headers.informative(field))
    if (named === null || (expected !== 'code' && expected !== named)) throw new Refusal('ACCESS.PORTAL_MISMATCH')
    call.portal = named
    if (expected === 'code') resolveClient(call, named)
  }
}

/**
 * Constant-time comparison with every code of both portals reveals neither the portal nor a code that is almost right.
 */
function createPortalLookup(portals: Record<Portal, PortalConfiguration>): (code: string) => Portal | null {
  const codes = names.flatMap((portal) =>
    portals[portal].accessCodes.map((hex) => ({ portal, digest: Buffer.from(hex, 'hex') })),
  )
  // Caches only the hashes, so the comparison still runs each time.
  const digests = new LRUCache<string, Buffer>({ max: 64 })
  const digestOf = (code: string): Buffer => {
    const cached = digests.get(code)
    if (cached) return cached
    const digest = hash('sha256', code, 'buffer')
    if (code.length <= maxCachedLength) digests.set(code, digest)
    return digest
  }
  return (code) => {
    const digest = digestOf(code)
    let found: Portal | null = null
    for (const each of codes) if (timingSafeEqual(each.digest, digest)) found = each.portal
    return found
  }
}
