import { type AccountId, type Portal, Refusal } from '../../kernel/index.ts'

/** Lets an account's caller in from an address, or refuses with ACCESS.IP_NOT_ALLOWED. */
export type AddressGuard = (
  account: { portal: Portal; accountId: AccountId; ipWhitelistEnabled: boolean },
  clientIp: string,
) => Promise<void>

/** As long as no set of addresses can be kept, a whitelist that is in force covers none. */
export const closedGuard: AddressGuard = async ({ ipWhitelistEnabled }) => {
  if (ipWhitelistEnabled) throw new Refusal('ACCESS.IP_NOT_ALLOWED')
}
