import type { WithdrawalChannelStatus } from './contract.ts'

export type ChannelType = 'BANK' | 'CRYPTO'
export type ChannelStatus = WithdrawalChannelStatus

/** Shows the last four characters, but at most a third of the number. The result hides the length. */
export function maskAccount(account: string): string {
  const shown = Math.min(4, Math.floor(account.length / 3))
  return `****${account.slice(account.length - shown)}`
}

/** Two spellings of an account number have the same canonical form. */
export function canonicalizeAccount(type: ChannelType, account: string): string {
  return type === 'BANK' ? account.replaceAll(/[ :.-]/g, '').toUpperCase() : account
}

export interface AccountFields {
  channelType: ChannelType
  currency: string
  bankCode: string | null
  network: string | null
  accountNumber: string
}

/** Equal accounts have the same parts, so a digest of the parts finds them. */
export function accountParts({ channelType, currency, bankCode, network, accountNumber }: AccountFields): string[] {
  return [channelType, currency, bankCode ?? network ?? '', canonicalizeAccount(channelType, accountNumber)]
}

export function isChannelType(text: string): text is ChannelType {
  return text === 'BANK' || text === 'CRYPTO'
}

/** Returns undefined if the channel cannot be rejected. */
export function statusAfterRejection(status: ChannelStatus): 'REJECTED' | 'DISABLED' | undefined {
  if (status === 'PENDING_VERIFICATION') return 'REJECTED'
  return status === 'ACTIVE' || status === 'SUSPENDED' ? 'DISABLED' : undefined
}
