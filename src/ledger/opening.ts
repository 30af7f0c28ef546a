import type { AccountId, Money, WalletId, WorkspaceId } from '../kernel/index.ts'
import { type LedgerPorts, post } from './execute.ts'

export interface OpeningFunds {
  wallet: WalletId
  workspace: WorkspaceId
  /** Negative for what goes back. */
  amount: Money
  /** Null: the system itself. */
  actor: AccountId | null
}

/** What a wallet starts with, from or to the outside world, whatever the wallet's status. Done once per call. */
export const fundWallet = (ports: LedgerPorts, { wallet, workspace, amount, actor }: OpeningFunds): Promise<void> => {
  const { currency, minor } = amount
  return post(ports, {
    actor,
    parties: [
      { label: 'outside', house: 'CLEARING', currency, short: 'SYSTEM.INTERNAL_ERROR' },
      { label: 'wallet', wallet, workspace, currency, active: false, currencyField: 'currency' },
    ],
    entries: [
      { account: 'outside', amount: -minor, flowType: 'OPENING' },
      { account: 'wallet', amount: minor, flowType: 'OPENING' },
    ],
  })
}
