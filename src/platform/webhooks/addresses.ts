import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Where receivers can be. */
export interface ReceiverRules {
  /** For development: receivers on loopback addresses are allowed, and need no https. */
  allowLoopback: boolean
  /** Host names and addresses of this deployment, as a URL has them. */
  ownNames: readonly string[]
}

const maxUrlLength = 2_048
const httpsPort = 443
/** Below are services such as SSH and SMTP, which must not get requests that a stranger chose. */
const firstFreePort = 1_024

/** Global unicast addresses. Everything else of IPv6 is local, translated, reserved or multicast. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')
/** Azure's virtual public address of the host, which serves metadata. */
const hostOfAzure = '168.63.129.16'
/** The interface identifiers of ISATAP contain an IPv4 address behind these bytes (RFC 5214, 6.1). */
const isatapMarks = ['00005efe', '02005efe']

/**
 * Whether a URL can be a receiver: https without user, password and fragment, on port 443 or above 1023. The addresses of
 * its name are checked before each attempt.
 */
export function isReceiverUrl(text: string, rules: ReceiverRules): boolean {
  if (text.length > maxUrlLength || text.includes('#') || !URL.canParse(text)) return false
  const url = new URL(text)
  const { protocol, username, password } = url
  if (username !== '' || password !== '') return false
  if (protocol !== 'https:' && !(rules.allowLoopback && protocol === 'http:')) return false
  const port = portOf(url)
  if (port !== httpsPort && port < firstFreePort) return false
  const host = hostOf(url)
  if (isLoopbackName(host)) return rules.allowLoopback
  const ownHosts = rules.ownNames.map((hostname) => hostOf({ hostname }))
  // Any other name needs https, because only its addresses show whether it is local.
  if (isIP(host) === 0) return protocol === 'https:' && !ownHosts.includes(host)
  return isAllowedAddress(host, { ...rules, protocol, ownAddresses: ownHosts })
}

/** The host without the brackets of IPv6 and the dot of an absolute name. The URL has normalized numbers. */
export function hostOf({ hostname }: Pick<URL, 'hostname'>): string {
  return hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
}

/** Resolvers answer these names differently (RFC 6761, 6.3). */
export function isLoopbackName(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost')
}

interface AddressRules extends Pick<ReceiverRules, 'allowLoopback'> {
  protocol: string
  /** The addresses of this machine. */
  ownAddresses: readonly string[]
}

/**
 * Whether a request can go to an address: a public one that is not this machine's. Addresses that translate or tunnel
 * IPv4, such as NAT64 and 6to4, are refused with any content.
 */
export function isAllowedAddress(text: string, { allowLoopback, protocol, ownAddresses }: AddressRules): boolean {
  if (text.includes('%') || isIP(text) === 0) return false
  const address = ipaddr.parse(text)
  const range = address.range()
  if (allowLoopback && range === 'loopback') return true
  if (protocol !== 'https:' || range !== 'unicast') return false
  const isOwn = ownAddresses.some((own) => isIP(own) !== 0 && isSame(ipaddr.process(own), address))
  if (isOwn || text === hostOfAzure) return false
  return address instanceof ipaddr.IPv4 || (address.match(globalUnicast) && !isIsatap(address))
}

function isSame(one: ipaddr.IPv4 | ipaddr.IPv6, other: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return one.toNormalizedString() === other.toNormalizedString()
}

function isIsatap(address: ipaddr.IPv6): boolean {
  return isatapMarks.includes(Buffer.from(address.toByteArray().slice(8, 12)).toString('hex'))
}

function portOf({ port, protocol }: URL): number {
  if (port !== '') return Number(port)
  return protocol === 'https:' ? httpsPort : 80
}
