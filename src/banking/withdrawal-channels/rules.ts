import type { InvalidField, WorkspaceKind } from '../../kernel/index.ts'
import {
  canonicalBankCode,
  canonicalNetwork,
  identifyAddress,
  identifyBankAccount,
} from '../../platform/identifiers/index.ts'
import type { WithdrawalChannelStatus } from './contract.ts'
import { findNetwork, type Network } from './networks.ts'

export type ChannelType = 'BANK' | 'CRYPTO'
export type ChannelStatus = WithdrawalChannelStatus

export interface AccountFields {
  channelType: ChannelType
  currency: string
  bankCode: string | null
  network: string | null
  accountNumber: string
}

export interface PayoutAccount {
  /** Two spellings of one account have the same parts, so a digest of them finds it. */
  parts: [channelType: string, currency: string, network: string, account: string]
  /** Empty for a valid account. */
  faults: InvalidField[]
  masked: string
  /** The first name of a listed network. */
  network: string | null
}

/** Letters of another script can look like those of another bank. */
const bankCodeForm = /^[A-Z0-9]+$/

/**
 * A stored account has no kind. It can have faults: it is older than a check, or the setting has changed. Payouts to it
 * stay possible, and its spellings are still one account.
 */
export function identifyAccount(
  networks: readonly Network[],
  { channelType, currency, bankCode, network, accountNumber }: AccountFields,
  kind: WorkspaceKind | null,
): PayoutAccount {
  const listed = network === null ? undefined : findNetwork(networks, network)
  const found =
    channelType === 'BANK'
      ? identifyBankAccount({ bankCode: bankCode ?? '', accountNumber })
      : identifyAddress(accountNumber, listed?.addresses ?? [{ form: 'text' }])
  const isLive = kind === 'LIVE'
  const reasons = {
    bankCode: bankCode !== null && !bankCodeForm.test(canonicalBankCode(bankCode)) ? 'invalid_format' : null,
    network: network !== null && !listed ? 'unknown' : isLive && listed?.test ? 'test_network' : null,
    accountNumber: isLive && found.isTest ? 'test_network' : found.fault,
  }
  const name = listed?.names[0] ?? network
  return {
    parts: [channelType, currency, canonicalNetwork(name ?? ''), found.canonical],
    faults: Object.entries(reasons).flatMap(([field, reason]) => (reason ? [{ name: field, reason }] : [])),
    masked: maskAccount(found.canonical.slice(found.canonical.lastIndexOf(' ') + 1)),
    network: name,
  }
}

/** Returns undefined if the channel cannot be rejected. */
export function statusAfterRejection(status: ChannelStatus): 'REJECTED' | 'DISABLED' | undefined {
  if (status === 'PENDING_VERIFICATION') return 'REJECTED'
  return status === 'ACTIVE' || status === 'SUSPENDED' ? 'DISABLED' : undefined
}

/** Shows the last four characters, but at most a third of the number. The result hides the length. */
export function maskAccount(account: string): string {
  const shown = Math.min(4, Math.floor(account.length / 3))
  return `****${account.slice(account.length - shown)}`
}
