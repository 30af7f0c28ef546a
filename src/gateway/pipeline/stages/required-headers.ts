import type { PortalConfiguration } from '../../../config/index.ts'
import { type HeaderDefinition, headers } from '../../../contract/headers.ts'
import { invalid, type Portal } from '../../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'
import { parseAddress } from '../client-address.ts'

const assertHeader = (call: Call, { field, accepts }: HeaderDefinition, isTrusted = true): string => {
  const value = call.headers.optional(field)
  if (!isTrusted || value === undefined || !accepts(value))
    throw invalid(field, `header ${field} is missing or malformed`)
  return value
}

const assertRequestId = (call: Call): void => {
  const { field, accepts } = headers.requestId
  const value = call.headers.optional(field)
  if (value !== undefined && !accepts(value)) throw invalid(field)
}

/** The headers that Cloudflare sets. They count as absent when the peer is not a trusted proxy. */
const assertCloudflareHeaders = (call: Call): void => {
  const { field } = headers.connectingIp
  const address = assertHeader(call, headers.connectingIp, call.edgeTrusted)
  if (parseAddress(address) === null) throw invalid(field, `header ${field} is missing or malformed`)
  assertHeader(call, headers.ray, call.edgeTrusted)
  call.country = assertHeader(call, headers.ipCountry, call.edgeTrusted).toUpperCase()
}

/**
 * Requires the headers of a portal's requests. The access code, the client hash and the body's type are checked by their
 * own stages.
 */
export const requiredHeadersStage =
  (portals: Record<Portal, PortalConfiguration>): Stage =>
  (call) => {
    if (call.chain.perimeter !== 'portal') return assertRequestId(call)
    assertHeader(call, headers.requestId)
    assertHeader(call, headers.locale)
    const isCloudflare = portals[call.portal ?? 'CONSUMER'].edge.kind === 'cloudflare'
    assertHeader(call, headers.forwardedProto, call.edgeTrusted || !isCloudflare)
    if (isCloudflare) assertCloudflareHeaders(call)
  }

/** Sets the client hash from X-Client-Hash. Optional for machines. */
export function clientHashStage(call: Call): void {
  const { field, accepts } = headers.clientHash
  const value = call.headers.optional(field)
  if (value === undefined && call.chain.perimeter === 'machine') return
  if (value === undefined || !accepts(value)) throw invalid(field)
  call.clientHash = value
}
