import type { WithdrawalChannelStatus } from './contract.ts'

export type ChannelType = 'BANK' | 'CRYPTO'
export type ChannelStatus = WithdrawalChannelStatus

/** Shows the last four characters, but never more than a third of the account. Hides its length. */
export const maskAccount = (account: string): string => {
  const shown = Math.min(4, Math.floor(account.length / 3))
  return `****${account.slice(account.length - shown)}`
}

/** The form in which accounts are compared: bank accounts without separators and in upper case, crypto addresses unchanged. */
export const canonicalizeAccount = (type: ChannelType, account: string): string =>
  type === 'BANK' ? account.replaceAll(/[ :.-]/g, '').toUpperCase() : account

/** The status after a rejection; undefined if the channel cannot be rejected. */
export const statusAfterRejection = (status: ChannelStatus): ChannelStatus | undefined => {
  if (status === 'PENDING_VERIFICATION') return 'REJECTED'
  return status === 'ACTIVE' ? 'DISABLED' : undefined
}
