import { hash, timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { PortalConfiguration } from '../../config/index.ts'
import { portals as names, type Portal, portalOfChain, Refusal } from '../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'
import type { EdgeView } from '../edge-view.ts'
import type { AddressSpender } from './limits.ts'

const longestCode = 256

/**
 * Portal access code (interface.md section 5, 1): kept as SHA-256, compared in constant time with every code of both
 * portals, so that time tells neither which portal nor which of its codes was near.
 */
export const portalAccessCode = (
  portals: Record<Portal, PortalConfiguration>,
  lookAt: EdgeView,
  spendAddress: AddressSpender,
): Stage => {
  const codes = names.flatMap((portal) =>
    portals[portal].accessCodes.map((hex) => ({ portal, digest: Buffer.from(hex, 'hex') })),
  )
  // The digest of a text never changes; what it is equal to is compared each time, and in constant time.
  const digests = new LRUCache<string, Buffer>({ max: 64 })
  const digestOf = (code: string): Buffer => {
    const known = digests.get(code)
    if (known) return known
    const digest = hash('sha256', code, 'buffer')
    if (code.length <= longestCode) digests.set(code, digest)
    return digest
  }
  const portalOf = (code: string): Portal | null => {
    const digest = digestOf(code)
    let found: Portal | null = null
    for (const each of codes) if (timingSafeEqual(each.digest, digest)) found = each.portal
    return found
  }
  const withOwnLimit = names.filter((portal) => portals[portal].limits?.address !== undefined)
  /**
   * Counts a wrong code against the client's address. Where a code may name either portal, it counts at each address limit
   * that a right one could spend from: a limit left out would still tell right codes from wrong ones.
   */
  const refuse = async (call: Call): Promise<never> => {
    let refusal: unknown
    for (const portal of call.chain.portal === 'code' ? [...withOwnLimit, null] : [portalOfChain(call.chain)]) {
      lookAt(call, portal ?? 'CONSUMER')
      try {
        await spendAddress(call, portal)
      } catch (error) {
        refusal = error
      }
    }
    throw refusal ?? new Refusal('ACCESS.PORTAL_MISMATCH')
  }
  return (call) => {
    if (call.chain.perimeter !== 'portal') {
      call.portal = portalOfChain(call.chain)
      return undefined
    }
    const name = 'x-portal-access-code'
    const named = call.headers.isRepeated(name) ? null : portalOf(call.headers.informative(name))
    const wanted = call.chain.portal
    if (named === null || (wanted !== 'code' && wanted !== named)) return refuse(call)
    call.portal = named
    if (wanted === 'code') lookAt(call, named)
    return undefined
  }
}
