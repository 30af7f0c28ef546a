import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'
import type { Headers } from './headers.ts'

const longestAddress = 64

/** Addresses come again and again; parsing one costs as much as several stages. Null for what is none. */
const spellings = new LRUCache<string, { address: string | null }>({ max: 10_000 })

/** As inet_aton reads them, `1` and `010.0.0.1` are addresses too, and not the same ones to everybody: they are none here. */
const isAddress = (text: string): boolean => ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text)

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
    const told = headers.isRepeated('cf-connecting-ip') ? '' : headers.informative('cf-connecting-ip').trim()
    return parseAddress(told) ?? peer
  }
  if (headers.isRepeated('x-forwarded-for')) return peer
  let client = peer
  for (const hop of headers.informative('x-forwarded-for').split(',').reverse()) {
    const address = parseHop(hop.trim())
    if (address === null) return client
    client = address
    if (!trusted(client)) return client
  }
  return client
}
