import ipaddr from 'ipaddr.js'
import type { Headers } from './headers.ts'

/** An address in its one spelling; an IPv4 address inside IPv6 is the IPv4 address. */
export const normalAddress = (address: string): string =>
  ipaddr.isValid(address) ? ipaddr.process(address).toString() : address

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
    return ipaddr.isValid(told) ? normalAddress(told) : peer
  }
  if (headers.isRepeated('x-forwarded-for')) return peer
  let client = peer
  for (const hop of headers.informative('x-forwarded-for').split(',').reverse()) {
    const address = hop.trim()
    if (!ipaddr.isValid(address)) return client
    client = normalAddress(address)
    if (!trusted(client)) return client
  }
  return client
}
