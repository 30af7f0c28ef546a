import { type Configuration, settingsOfPortal } from '../../../config/index.ts'
import { type HeaderDefinition, headers } from '../../../contract/headers.ts'
import { type Chain, invalid, parseLocale, portalOfChain, Refusal } from '../../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'
import { parseAddress, type ResolveClient } from '../client-address.ts'
import type { Headers } from '../headers.ts'
import type { AllowedOrigins } from '../origins.ts'

export function localeHeaderOf({ perimeter }: Chain): string {
  return perimeter === 'self' ? headers.acceptLanguage.field : headers.locale.field
}

const maxUserAgentLength = 512

/**
 * Control characters of ISO 8859-1 are valid in a header. They could add line breaks to a log, because JSON does not
 * escape them.
 */
const control = /\p{Cc}/gu

export function readUserAgent(received: Headers): string {
  return received.informative('user-agent').slice(0, maxUserAgentLength).replace(control, ' ')
}

/** Chains that serve several portals use the edge of CONSUMER until a later stage determines the portal. */
export function edgeStage(resolveClient: ResolveClient): Stage {
  return (call) => {
    resolveClient(call, portalOfChain(call.chain) ?? 'CONSUMER')
    call.userAgent = readUserAgent(call.headers)
    call.locale = parseLocale(call.headers.informative(localeHeaderOf(call.chain)))
  }
}

/** Other stages check the access code, the client hash and the body's media type. A ticket knows the locale. */
export function requiredHeadersStage(
  { portals, profile }: Pick<Configuration, 'portals' | 'profile'>,
  origins: Pick<AllowedOrigins, 'allows'>,
): Stage {
  return (call) => {
    assertOrigin(call, origins)
    if (call.chain.perimeter !== 'portal') return assertRequestId(call)
    if (!call.ticket) {
      assertHeader(call, headers.requestId)
      assertHeader(call, headers.locale)
    }
    const isCloudflare = settingsOfPortal(portals, call.portal ?? 'CONSUMER').edge.kind === 'cloudflare'
    // Development has no edge. Clients add its headers there, which a link cannot.
    const mayLackEdge = call.ticket !== null && profile === 'development'
    assertEdgeHeader(call, headers.forwardedProto, mayLackEdge, call.edgeTrusted || !isCloudflare)
    if (isCloudflare) assertCloudflareHeaders(call, mayLackEdge)
  }
}

/** The hash is optional for machines. A ticket takes its place. */
export function clientHashStage(call: Call): void {
  const { field, accepts } = headers.clientHash
  if (call.ticket) return
  const value = call.headers.optional(field)
  if (value === undefined && call.chain.perimeter === 'machine') return
  if (value === undefined || !accepts(value)) throw invalid(field)
  call.clientHash = value
}

/**
 * Throws ACCESS.ORIGIN_NOT_ALLOWED. Browsers enforce no same-origin policy for WebSockets, but always send Origin.
 * Other clients may omit it.
 */
function assertOrigin(call: Call, origins: Pick<AllowedOrigins, 'allows'>): void {
  const origin = call.handshake ? call.headers.optional('origin') : undefined
  if (origin !== undefined && !origins.allows(origin, call.portal)) throw new Refusal('ACCESS.ORIGIN_NOT_ALLOWED')
}

function assertRequestId(call: Call): void {
  const { field, accepts } = headers.requestId
  const value = call.headers.optional(field)
  if (value !== undefined && !accepts(value)) throw invalid(field)
}

function assertHeader(call: Call, { field, accepts }: HeaderDefinition, isTrusted = true): string {
  const value = call.headers.optional(field)
  if (!isTrusted || value === undefined || !accepts(value))
    throw invalid(field, `header ${field} is missing or malformed`)
  return value
}

/** From a peer that is not a trusted proxy, it is treated as absent. Returns undefined if it may be absent. */
function assertEdgeHeader(
  call: Call,
  header: HeaderDefinition,
  mayBeAbsent: boolean,
  isTrusted = call.edgeTrusted,
): string | undefined {
  if (mayBeAbsent && isTrusted && !call.headers.has(header.field)) return undefined
  return assertHeader(call, header, isTrusted)
}

function assertCloudflareHeaders(call: Call, mayBeAbsent: boolean): void {
  const { field } = headers.connectingIp
  const address = assertEdgeHeader(call, headers.connectingIp, mayBeAbsent)
  if (address !== undefined && parseAddress(address) === null)
    throw invalid(field, `header ${field} is missing or malformed`)
  assertEdgeHeader(call, headers.ray, mayBeAbsent)
  call.country = assertEdgeHeader(call, headers.ipCountry, mayBeAbsent)?.toUpperCase() ?? call.country
}
