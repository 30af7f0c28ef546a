import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'
import type { Headers } from './headers.ts'

const longestAddress = 64

/** Addresses come again and again; parsing one costs as much as several stages. Null for what is none. */
const spellings = new LRUCache<string, { address: string | null }>({ max: 10_000 })

/**
 * Rejects what inet_aton accepts (`1`, `010.0.0.1`), since parsers disagree on it, and IPv6 zone ids, which mean something on
 * one host only (RFC 4007, section 11.2).
 */
const isAddress = (text: string): boolean => isIP(text) !== 0 && !text.includes('%')

/** An address in its one spelling, or null for what is none; an IPv4 address inside IPv6 is the IPv4 address. */
export const parseAddress = (text: string): string | null => {
  if (text.length > longestAddress) return null
  const known = spellings.get(text)
  if (known) return known.address
  const address = isAddress(text) ? ipaddr.process(text).toString() : null
  spellings.set(text, { address })
  return address
}

export const normalAddress = (text: string): string => parseAddress(text) ?? text

/** An address with the port that it came from, as some edges write a hop: Azure's always, Amazon's when told to. */
const withPort = /^(?:([\d.]+)|\[([\da-f:.]+)\]):\d{1,5}$/i

/** RFC 9110, section 5.6.3. `trim` would remove non-ASCII white space, too. */
const optionalWhiteSpace = /^[ \t]+|[ \t]+$/g

const parseHop = (hop: string): string | null => {
  const [, v4, v6] = withPort.exec(hop) ?? []
  return parseAddress(v4 ?? v6 ?? hop)
}

/**
 * The client as a trusted edge tells it. `direct` reads X-Forwarded-For from the right and stops at the first hop
 * that is not trusted; what a client wrote itself stands further left and is never reached.
 */
export const clientAddress = (
  kind: 'cloudflare' | 'direct',
  headers: Headers,
  peer: string,
  trusted: (address: string) => boolean,
): string => {
  if (kind === 'cloudflare') {
    const address = headers.isRepeated('cf-connecting-ip') ? '' : headers.informative('cf-connecting-ip')
    return parseAddress(address) ?? peer
  }
  if (headers.isRepeated('x-forwarded-for')) return peer
  let client = peer
  for (const hop of headers.informative('x-forwarded-for').split(',').reverse()) {
    const address = parseHop(hop.replace(optionalWhiteSpace, ''))
    if (address === null) return client
    client = address
    if (!trusted(client)) return client
  }
  return client
}
