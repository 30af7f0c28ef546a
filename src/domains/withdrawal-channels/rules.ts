import type { WithdrawalChannelStatus } from './contract.ts'

export type ChannelType = 'BANK' | 'CRYPTO'
export type ChannelStatus = WithdrawalChannelStatus

/** Masks an account number. Shows its last four characters, but at most a third of it. The result hides the length. */
export const maskAccount = (account: string): string => {
  const shown = Math.min(4, Math.floor(account.length / 3))
  return `****${account.slice(account.length - shown)}`
}

/**
 * Returns the account number in the form in which numbers are compared: a bank account in upper case without
 * separators, a crypto address unchanged.
 */
export const canonicalizeAccount = (type: ChannelType, account: string): string =>
  type === 'BANK' ? account.replaceAll(/[ :.-]/g, '').toUpperCase() : account

/** Returns the status after a rejection. Returns undefined if the channel cannot be rejected. */
export const statusAfterRejection = (status: ChannelStatus): ChannelStatus | undefined => {
  if (status === 'PENDING_VERIFICATION') return 'REJECTED'
  return status === 'ACTIVE' ? 'DISABLED' : undefined
}
