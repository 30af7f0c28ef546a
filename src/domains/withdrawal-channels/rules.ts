import type { WithdrawalChannelStatus } from './contract.ts'

export type ChannelType = 'BANK' | 'CRYPTO'
export type ChannelStatus = WithdrawalChannelStatus

/** A third of the account at most, and never more than four places, stay readable; the length does not show. */
export const masked = (account: string): string => {
  const shown = Math.min(4, Math.floor(account.length / 3))
  return `****${account.slice(account.length - shown)}`
}

/** The account as it is compared: a bank's may be grouped and in either case, a crypto address is what it is. */
export const canonicalAccount = (type: ChannelType, account: string): string =>
  type === 'BANK' ? account.replaceAll(/[ :.-]/g, '').toUpperCase() : account

/** Where a refusal takes a channel from where it stands; undefined where it takes it nowhere. */
export const refusedTo = (status: ChannelStatus): ChannelStatus | undefined => {
  if (status === 'PENDING_VERIFICATION') return 'REJECTED'
  return status === 'ACTIVE' ? 'DISABLED' : undefined
}
