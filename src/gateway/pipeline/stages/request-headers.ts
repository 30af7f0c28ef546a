import type { PortalConfiguration } from '../../../config/index.ts'
import { type HeaderDefinition, headers } from '../../../contract/headers.ts'
import { type Chain, invalid, type Portal, parseLocale, portalOfChain } from '../../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'
import { parseAddress, type ResolveClient } from '../client-address.ts'

/** Returns the header that names the language on a chain. */
export const localeHeaderOf = ({ perimeter }: Chain): string =>
  perimeter === 'self' ? headers.acceptLanguage.field : headers.locale.field

const maxUserAgentLength = 512

/**
 * Control characters of ISO 8859-1 are valid in a header, and JSON does not escape them. They would put line breaks
 * into a log.
 */
const control = /\p{Cc}/gu

/**
 * Sets the client's address, user agent and locale. Chains of both portals start with the edge of the CONSUMER portal.
 * The stage that determines the portal resolves the address again.
 */
export function edgeStage(resolveClient: ResolveClient): Stage {
  return (call) => {
    resolveClient(call, portalOfChain(call.chain) ?? 'CONSUMER')
    call.userAgent = call.headers.informative('user-agent').slice(0, maxUserAgentLength).replace(control, ' ')
    call.locale = parseLocale(call.headers.informative(localeHeaderOf(call.chain)))
  }
}

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

/** Requires the headers that Cloudflare sets. From a peer that is not a trusted proxy, they count as absent. */
const assertCloudflareHeaders = (call: Call): void => {
  const { field } = headers.connectingIp
  const address = assertHeader(call, headers.connectingIp, call.edgeTrusted)
  if (parseAddress(address) === null) throw invalid(field, `header ${field} is missing or malformed`)
  assertHeader(call, headers.ray, call.edgeTrusted)
  call.country = assertHeader(call, headers.ipCountry, call.edgeTrusted).toUpperCase()
}

/**
 * Requires the headers of a portal's requests. Other stages check the access code, the client hash and the body's media
 * type.
 */
export function requiredHeadersStage(portals: Record<Portal, PortalConfiguration>): Stage {
  return (call) => {
    if (call.chain.perimeter !== 'portal') return assertRequestId(call)
    assertHeader(call, headers.requestId)
    assertHeader(call, headers.locale)
    const isCloudflare = portals[call.portal ?? 'CONSUMER'].edge.kind === 'cloudflare'
    assertHeader(call, headers.forwardedProto, call.edgeTrusted || !isCloudflare)
    if (isCloudflare) assertCloudflareHeaders(call)
  }
}

/** Sets the client hash from X-Client-Hash, which is optional for machines. */
export function clientHashStage(call: Call): void {
  const { field, accepts } = headers.clientHash
  const value = call.headers.optional(field)
  if (value === undefined && call.chain.perimeter === 'machine') return
  if (value === undefined || !accepts(value)) throw invalid(field)
  call.clientHash = value
}
