import type { WithdrawalChannelStatus } from './contract.ts'

export type ChannelType = 'BANK' | 'CRYPTO'
export type ChannelStatus = WithdrawalChannelStatus

/** Shows the last four characters, but at most a third of the number. The result hides the length. */
export const maskAccount = (account: string): string => {
  const shown = Math.min(4, Math.floor(account.length / 3))
  return `****${account.slice(account.length - shown)}`
}

/** Two spellings of an account number have the same canonical form. */
export const canonicalizeAccount = (type: ChannelType, account: string): string =>
  type === 'BANK' ? account.replaceAll(/[ :.-]/g, '').toUpperCase() : account

export interface AccountFields {
  channelType: ChannelType
  currency: string
  bankCode: string | null
  network: string | null
  accountNumber: string
}

/** Equal accounts have the same parts, so a digest of the parts finds them. */
export const accountParts = ({ channelType, currency, bankCode, network, accountNumber }: AccountFields): string[] => [
  channelType,
  currency,
  bankCode ?? network ?? '',
  canonicalizeAccount(channelType, accountNumber),
]

export const isChannelType = (text: string): text is ChannelType => text === 'BANK' || text === 'CRYPTO'

/** Returns undefined if the channel cannot be rejected. */
export const statusAfterRejection = (status: ChannelStatus): 'REJECTED' | 'DISABLED' | undefined => {
  if (status === 'PENDING_VERIFICATION') return 'REJECTED'
  return status === 'ACTIVE' || status === 'SUSPENDED' ? 'DISABLED' : undefined
}
