import { isIPv4, isIPv6 } from 'node:net'

/**
 * Returns a check of the header `Host`. A web page that rebinds its own name to this address sends that name. An attacker
 * cannot rebind an IP address, so all IP addresses are allowed.
 */
export function createHostCheck(names: readonly string[]): (header: string | undefined) => boolean {
  const allowed = new Set(names.map((name) => name.toLowerCase()))
  return (header) => {
    const [, bracketed, plain] = /^(?:\[([^\]]+)\]|([^:[\]@/]+?)\.?)(?::\d+)?$/.exec(header ?? '') ?? []
    if (bracketed !== undefined) return isIPv6(bracketed)
    return plain !== undefined && (isIPv4(plain) || allowed.has(plain.toLowerCase()))
  }
}
