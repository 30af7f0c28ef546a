import { hash, timingSafeEqual } from 'node:crypto'
import type { PortalConfiguration } from '../../config/index.ts'
import { portals as names, type Portal, Refusal } from '../../kernel/index.ts'
import type { Stage } from '../call.ts'

/**
 * Portal access code (interface.md section 5, 1): kept as SHA-256, compared in constant time with every code of both
 * portals, so that time tells neither which portal nor which of its codes was near.
 */
export const portalAccessCode = (portals: Record<Portal, PortalConfiguration>): Stage => {
  const codes = names.flatMap((portal) =>
    portals[portal].accessCodes.map((hex) => ({ portal, digest: Buffer.from(hex, 'hex') })),
  )
  const portalOf = (code: string): Portal | null => {
    const digest = hash('sha256', code, 'buffer')
    let found: Portal | null = null
    for (const each of codes) if (timingSafeEqual(each.digest, digest)) found = each.portal
    return found
  }
  return (call) => {
    if (call.chain.perimeter !== 'portal') {
      if (call.chain.portal !== 'token') call.portal = call.chain.portal === 'SYSTEM' ? 'SYSTEM' : 'CONSUMER'
      return
    }
    const name = 'x-portal-access-code'
    const named = call.headers.isRepeated(name) ? null : portalOf(call.headers.informative(name))
    const wanted = call.chain.portal
    if (named === null || (wanted !== 'code' && wanted !== named)) throw new Refusal('ACCESS.PORTAL_MISMATCH')
    call.portal = named
  }
}
