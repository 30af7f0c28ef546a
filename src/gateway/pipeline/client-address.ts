import { hash, timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'
import { type PortalConfiguration, type Portals, settingsOfPortal } from '../../config/index.ts'
import type { Portal } from '../../kernel/index.ts'
import { containsAddress, parseRange } from '../../platform/ip-ranges.ts'
import type { Call } from './call.ts'
import type { Headers } from './headers.ts'

const maxAddressLength = 64

/** Parsing an address costs as much as several stages. */
const parsedAddresses = new LRUCache<string, { address: string | null }>({ max: 10_000 })

/** Null for invalid text. An IPv4-mapped IPv6 address becomes the IPv4 address. */
export function parseAddress(text: string): string | null {
  if (text.length > maxAddressLength) return null
  const cached = parsedAddresses.get(text)
  if (cached) return cached.address
  const address = isAddress(text) ? ipaddr.process(text).toString() : null
  parsedAddresses.set(text, { address })
  return address
}

/** Azure and some AWS configurations write a hop with its port. */
const addressWithPort = /^(?:([\d.]+)|\[([\da-f:.]+)\]):\d{1,5}$/i

/** Optional white space (RFC 9110, section 5.6.3). `trim` would also remove non-ASCII white space. */
const optionalWhiteSpace = /^[ \t]+|[ \t]+$/g

export type ClientFacts = Pick<Call, 'headers' | 'peer' | 'edgeTrusted' | 'clientIp'>

/** Sets `edgeTrusted` and `clientIp` of a request according to a portal's edge configuration. */
export type ResolveClient = (request: ClientFacts, portal: Portal) => void

const maxCachedPeers = 10_000

/** Headers of the edge (CF-Connecting-IP, or X-Forwarded-For without Cloudflare) count only from a trusted proxy. */
export function createClientResolver(portals: Portals): ResolveClient {
  const edges = Object.fromEntries(
    Object.entries(portals).map(([portal, { edge }]) => {
      const { kind, trustedProxies } = edge
      return [portal, { kind, isTrusted: createTrustCheck(trustedProxies), isFromEdge: createEdgeCheck(edge) }]
    }),
  )
  return (request, portal) => {
    const { kind, isTrusted, isFromEdge } = settingsOfPortal(edges, portal)
    const peer = normalizeAddress(request.peer)
    request.edgeTrusted = isTrusted(peer) && isFromEdge(request.headers)
    request.clientIp = request.edgeTrusted ? clientAddress(kind, request.headers, peer, isTrusted) : peer
  }
}

/**
 * Rejects the short and octal forms of inet_aton (`1`, `010.0.0.1`), because parsers disagree about them, and IPv6 zone
 * ids, which are only valid on one host (RFC 4007, section 11.2).
 */
function isAddress(text: string): boolean {
  return isIP(text) !== 0 && !text.includes('%')
}

function createTrustCheck(ranges: string[]): (address: string) => boolean {
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

type Edge = PortalConfiguration['edge']

function createEdgeCheck(edge: Edge): (headers: Headers) => boolean {
  const [hasSecret, isFromCloudflare] = [createSecretCheck(edge), createHopCheck(edge)]
  return (headers) => hasSecret(headers) && isFromCloudflare(headers)
}

/** Compares digests in constant time. */
function createSecretCheck({ secretHeader }: Edge): (headers: Headers) => boolean {
  if (!secretHeader) return () => true
  const accepted = secretHeader.sha256.map((digest) => Buffer.from(digest, 'hex'))
  return (headers) => {
    if (headers.isRepeated(secretHeader.name)) return false
    const presented = hash('sha256', headers.optional(secretHeader.name) ?? '', 'buffer')
    return accepted.some((digest) => timingSafeEqual(digest, presented))
  }
}

/** A trusted proxy added the last untrusted hop of X-Forwarded-For, so the client cannot choose it. */
function createHopCheck({ kind, cloudflareRanges, trustedProxies }: Edge): (headers: Headers) => boolean {
  if (kind !== 'cloudflare' || cloudflareRanges === undefined) return () => true
  const [isCloudflare, isTrusted] = [createTrustCheck(cloudflareRanges), createTrustCheck(trustedProxies)]
  return (headers) => {
    if (headers.isRepeated('x-forwarded-for')) return false
    for (const hop of (headers.optional('x-forwarded-for') ?? '').split(',').reverse()) {
      const address = parseHop(hop.replace(optionalWhiteSpace, ''))
      if (address === null) return false
      if (!isTrusted(address)) return isCloudflare(address)
    }
    return false
  }
}

function parseHop(hop: string): string | null {
  const [, v4, v6] = addressWithPort.exec(hop) ?? []
  return parseAddress(v4 ?? v6 ?? hop)
}

function normalizeAddress(text: string): string {
  return parseAddress(text) ?? text
}

/**
 * With `direct`, reads X-Forwarded-For from the right up to the first untrusted hop. The client may have added the
 * entries further left.
 */
function clientAddress(
  kind: 'cloudflare' | 'direct',
  headers: Headers,
  peer: string,
  isTrusted: (address: string) => boolean,
): string {
  if (kind === 'cloudflare') {
    const reported = headers.isRepeated('cf-connecting-ip') ? '' : headers.informative('cf-connecting-ip')
    return parseAddress(reported) ?? peer
  }
  if (headers.isRepeated('x-forwarded-for')) return peer
  let client = peer
  for (const hop of headers.informative('x-forwarded-for').split(',').reverse()) {
    const address = parseHop(hop.replace(optionalWhiteSpace, ''))
    if (address === null) return client
    client = address
    if (!isTrusted(client)) return client
  }
  return client
}
