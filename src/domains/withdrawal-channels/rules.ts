import type { WithdrawalChannelStatus } from './contract.ts'

export type ChannelType = 'BANK' | 'CRYPTO'
export type ChannelStatus = WithdrawalChannelStatus

/** Masks an account except for its last four characters, at most a third of it. The result hides the length. */
export const maskAccount = (account: string): string => {
  const shown = Math.min(4, Math.floor(account.length / 3))
  return `****${account.slice(account.length - shown)}`
}

/** The form for comparison: a bank account in upper case without separators, a crypto address unchanged. */
export const canonicalizeAccount = (type: ChannelType, account: string): string =>
  type === 'BANK' ? account.replaceAll(/[ :.-]/g, '').toUpperCase() : account

/** The status after a rejection. Undefined if the channel cannot be rejected. */
export const statusAfterRejection = (status: ChannelStatus): ChannelStatus | undefined => {
  if (status === 'PENDING_VERIFICATION') return 'REJECTED'
  return status === 'ACTIVE' ? 'DISABLED' : undefined
}
