import { type Ids, Refusal } from '../../kernel/index.ts'
import { containsAddress, ipVersion, parseRange } from '../../platform/ip-ranges.ts'

/** A whitelist entry for an address or a range. */
export const toNewEntry = (ids: Ids, address: string) => ({
  id: ids.next<'ipWhitelistEntry'>(),
  address,
  ipVersion: ipVersion(parseRange(address)),
})

/** Throws STATE.CONFLICT if the addresses do not cover the caller, who would lock themselves out. */
export const assertCoversCaller = (addresses: string[], clientIp: string): void => {
  if (addresses.some((address) => containsAddress(parseRange(address), clientIp))) return
  throw new Refusal('STATE.CONFLICT', { internal: 'the whitelist does not cover the caller' })
}
