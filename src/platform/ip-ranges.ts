import ipaddr from 'ipaddr.js'

/** A parsed entry of a list of addresses: an IPv4 or IPv6 network. */
export type IpRange = [network: ipaddr.IPv4 | ipaddr.IPv6, bits: number]

const mappedBits = 96

const asWritten = (text: string): IpRange => {
  if (text.includes('/')) return ipaddr.parseCIDR(text)
  const address = ipaddr.parse(text)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

/** The network that an address or a CIDR range names; what is IPv4 inside IPv6 is that IPv4 network. */
export const parseRange = (text: string): IpRange => {
  const [address, bits] = asWritten(text)
  if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= mappedBits)
    return [address.toIPv4Address(), bits - mappedBits]
  return [address, bits]
}

export const versionOf = ([network]: IpRange): 4 | 6 => (network.kind() === 'ipv4' ? 4 : 6)

/** Whether an address lies in a range. What is no address lies in none. */
export const covers = ([network, bits]: IpRange, address: string): boolean => {
  if (!ipaddr.isValid(address)) return false
  const ip = ipaddr.process(address)
  return ip.kind() === network.kind() && ip.match(network, bits)
}
