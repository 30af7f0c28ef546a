import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'
import type { PortalConfiguration } from '../../config/index.ts'
import type { Portal } from '../../kernel/index.ts'
import { containsAddress, parseRange } from '../../platform/ip-ranges.ts'
import type { Call } from './call.ts'
import type { Headers } from './headers.ts'

const maxAddressLength = 64

/** Parsed addresses are cached, because clients repeat them and parsing one costs as much as several stages. */
const parsedAddresses = new LRUCache<string, { address: string | null }>({ max: 10_000 })

/**
 * Rejects the short and octal forms of inet_aton (`1`, `010.0.0.1`), because parsers disagree about them. Also rejects
 * IPv6 zone ids, which are only valid on one host (RFC 4007, section 11.2).
 */
const isAddress = (text: string): boolean => isIP(text) !== 0 && !text.includes('%')

/** Returns an address in canonical form, or null for invalid text. An IPv4-mapped IPv6 address becomes the IPv4 address. */
export function parseAddress(text: string): string | null {
  if (text.length > maxAddressLength) return null
  const cached = parsedAddresses.get(text)
  if (cached) return cached.address
  const address = isAddress(text) ? ipaddr.process(text).toString() : null
  parsedAddresses.set(text, { address })
  return address
}

/** Returns an address in canonical form. Returns invalid text unchanged. */
const normalizeAddress = (text: string): string => parseAddress(text) ?? text

/** An address with a port, as Azure and some configurations of AWS write a hop. */
const addressWithPort = /^(?:([\d.]+)|\[([\da-f:.]+)\]):\d{1,5}$/i

/** RFC 9110, section 5.6.3. `trim` would remove non-ASCII white space, too. */
const optionalWhiteSpace = /^[ \t]+|[ \t]+$/g

const parseHop = (hop: string): string | null => {
  const [, v4, v6] = addressWithPort.exec(hop) ?? []
  return parseAddress(v4 ?? v6 ?? hop)
}

/**
 * Returns the client's address as a trusted edge reports it. With `direct`, reads X-Forwarded-For from the right up to
 * the first untrusted hop. Entries further left, which the client can have added, are never used.
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

/** The part of a request that its client address is resolved from and written to. */
export type ClientFacts = Pick<Call, 'headers' | 'peer' | 'edgeTrusted' | 'clientIp'>

/** Sets `edgeTrusted` and `clientIp` of a request by the edge configuration of a portal. */
export type ResolveClient = (request: ClientFacts, portal: Portal) => void

const maxCachedPeers = 10_000

const createTrustCheck = (ranges: string[]): ((address: string) => boolean) => {
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

/**
 * Returns the resolver of client addresses. Headers of the edge (CF-Connecting-IP, or X-Forwarded-For without
 * Cloudflare) count only from a trusted proxy; from any other peer they count as absent.
 */
export function createClientResolver(portals: Record<Portal, PortalConfiguration>): ResolveClient {
  const isTrusted = {
    CONSUMER: createTrustCheck(portals.CONSUMER.edge.trustedProxies),
    SYSTEM: createTrustCheck(portals.SYSTEM.edge.trustedProxies),
  }
  return (request, portal) => {
    const peer = normalizeAddress(request.peer)
    request.edgeTrusted = isTrusted[portal](peer)
    request.clientIp = request.edgeTrusted
      ? clientAddress(portals[portal].edge.kind, request.headers, peer, isTrusted[portal])
      : peer
  }
}
