import type { Tx } from '../../database/index.ts'
import type { Instant, WorkspaceId } from '../../kernel/index.ts'
import { ledgerTypes } from '../../ledger/contract.ts'
import { type Ledger, type OrderQuery, rechargeExpiry } from '../../ledger/index.ts'

/** Lacks the orders of a domain that is off. */
export type PendingOrders = Partial<Record<'withdrawals' | 'transfers' | 'recharges', number>>

/** Includes the open transfers that the workspace would receive. */
export const countPendingOrders = async (
  ledger: Ledger,
  tx: Tx,
  workspace: WorkspaceId,
  at: Instant,
  hasDomain: (name: string) => boolean,
): Promise<PendingOrders> => {
  const within = ledger.within(tx)
  const page = { currentPage: 1, pageSize: 1, sortBy: 'createdAt', sortOrder: 'asc' } as const
  const count = async (
    type: 'WITHDRAWAL' | 'TRANSFER' | 'RECHARGE',
    expiry?: OrderQuery['expiry'],
  ): Promise<number> => {
    const statuses = ledgerTypes.orders[type].open
    const query = { ...page, type, statuses, expiry, workspace: null, participant: workspace }
    return (await within.listOrders(query)).pagination.totalRecords
  }
  return {
    ...(hasDomain('withdrawals') && { withdrawals: await count('WITHDRAWAL') }),
    ...(hasDomain('transfers') && { transfers: await count('TRANSFER') }),
    ...(hasDomain('recharges') && { recharges: await count('RECHARGE', { ...rechargeExpiry, at }) }),
  }
}
