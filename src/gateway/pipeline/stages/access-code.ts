import { hash, timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type Portals, portalNames, settingsOfPortal } from '../../../config/index.ts'
import { headers } from '../../../contract/headers.ts'
import { type Portal, portalOfChain, Refusal } from '../../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'
import type { ResolveClient } from '../client-address.ts'
import type { AdditionalPortal } from '../router.ts'
import { takeTicket } from '../tickets.ts'

const maxCachedLength = 256

/** Throws ROUTE.NOT_FOUND if the portal of the call does not offer its operation. */
export type AssertOffered = (portal: Portal, call: Pick<Call, 'operation' | 'chain'>) => void

/**
 * The router finds only operations that the portal of a path offers. On the other chains, the access code or the token
 * determines the portal.
 */
export function offerCheck(additional: readonly AdditionalPortal[]): AssertOffered {
  const byPortal = new Map(additional.map((each) => [each.portal, each]))
  return (portal, { operation, chain }) => {
    if (portalOfChain(chain) === null && byPortal.get(portal)?.offers(operation) === false)
      throw new Refusal('ROUTE.NOT_FOUND', { internal: `${portal} does not offer ${operation.id}` })
  }
}

/**
 * A ticket takes the place of the code. Throws ACCESS.PORTAL_MISMATCH, ACCESS.TICKET_INVALID, or ROUTE.NOT_FOUND for an
 * operation that the portal does not offer.
 */
export function accessCodeStage(portals: Portals, resolveClient: ResolveClient, assertOffered: AssertOffered): Stage {
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
    if (expected !== 'code') return
    resolveClient(call, named)
    assertOffered(named, call)
  }
}

/**
 * Constant-time comparison with every code of all portals reveals neither the portal nor a code that is almost right.
 */
function createPortalLookup(portals: Portals): (code: string) => Portal | null {
  const codes = portalNames(portals).flatMap((portal) =>
    settingsOfPortal(portals, portal).accessCodes.map((hex) => ({ portal, digest: Buffer.from(hex, 'hex') })),
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
