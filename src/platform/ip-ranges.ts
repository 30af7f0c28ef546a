import ipaddr from 'ipaddr.js'

export type IpRange = [network: ipaddr.IPv4 | ipaddr.IPv6, bits: number]

const mappedBits = 96

/** IPv4-mapped IPv6 becomes IPv4. Throws if the text is neither an address nor a CIDR range. */
export function parseRange(text: string): IpRange {
  const [address, bits] = parseAddressOrCidr(text)
  if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= mappedBits)
    return [address.toIPv4Address(), bits - mappedBits]
  return [address, bits]
}

export function ipVersion([network]: IpRange): 4 | 6 {
  return network.kind() === 'ipv4' ? 4 : 6
}

export function containsAddress([network, bits]: IpRange, address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const ip = ipaddr.process(address)
  return ip.kind() === network.kind() && ip.match(network, bits)
}

function parseAddressOrCidr(text: string): IpRange {
  if (text.includes('/')) return ipaddr.parseCIDR(text)
  const address = ipaddr.parse(text)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}
