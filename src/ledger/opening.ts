import type { Money, WalletId, WorkspaceId } from '../kernel/index.ts'
import { type LedgerPorts, post } from './execute.ts'

export interface OpeningFunds {
  wallet: WalletId
  workspace: WorkspaceId
  amount: Money
}

/** A wallet's first funds, out of CLEARING, for the development seed. Done once per call. */
export const fundWallet = (ports: LedgerPorts, { wallet, workspace, amount }: OpeningFunds): Promise<void> => {
  const { currency, minor } = amount
  return post(ports, {
    actor: null,
    parties: [
      { label: 'outside', house: 'CLEARING', currency, short: 'SYSTEM.INTERNAL_ERROR' },
      { label: 'wallet', wallet, workspace, currency, active: true, currencyField: 'currency' },
    ],
    entries: [
      { account: 'outside', amount: -minor, flowType: 'OPENING' },
      { account: 'wallet', amount: minor, flowType: 'OPENING' },
    ],
  })
}
