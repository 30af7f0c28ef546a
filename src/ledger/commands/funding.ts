import { inTransaction } from '../../database/index.ts'
import type { AccountId, Money, WalletId, WorkspaceId } from '../../kernel/index.ts'
import type { HouseParty, Party } from './command.ts'
import { executePosting, type LedgerPorts } from './execute-store.ts'
import { lockLiquidity } from './house-accounts-store.ts'

export interface Funding {
  wallet: WalletId
  workspace: WorkspaceId
  /** A negative amount leaves the wallet. */
  amount: Money
  /** Null for the system itself. */
  actor: AccountId | null
}

const clearing = (currency: string): HouseParty => ({
  label: 'outside',
  house: 'CLEARING',
  currency,
  short: 'SYSTEM.INTERNAL_ERROR',
})

/** Posts opening funds from CLEARING to one other account. */
const postOpening = (ports: LedgerPorts, actor: AccountId | null, to: Party, minor: bigint): Promise<void> =>
  executePosting(ports, {
    actor,
    parties: [clearing(to.currency), to],
    entries: [
      { account: 'outside', amount: -minor, flowType: 'OPENING' },
      { account: to.label, amount: minor, flowType: 'OPENING' },
    ],
  })

/** Posts a wallet's opening funds, whatever the wallet's status. Not idempotent: every call posts again. */
export const fundWallet = (ports: LedgerPorts, { wallet, workspace, amount, actor }: Funding): Promise<void> => {
  const { currency, minor } = amount
  const party = { label: 'wallet', wallet, workspace, currency, active: false, currencyField: 'currency' }
  return postOpening(ports, actor, party, minor)
}

/**
 * Raises the house's liquidity to the given amounts, one per currency, out of CLEARING. Idempotent; lower amounts take
 * nothing out.
 */
export const provideLiquidity = async (ports: LedgerPorts, amounts: readonly Money[]): Promise<void> => {
  for (const { minor, currency } of amounts) {
    await inTransaction(ports.database, async (tx) => {
      const provided = await lockLiquidity(tx, currency)
      if (provided === undefined || provided >= minor) return
      const party = { label: 'liquidity', house: 'LIQUIDITY', currency, short: 'SYSTEM.INTERNAL_ERROR' } as const
      await postOpening({ ...ports, database: tx }, null, party, minor - provided)
    })
  }
}
