import type { Tx } from '../../database/index.ts'
import type { Instant, WorkspaceId } from '../../kernel/index.ts'
import { ledgerTypes } from '../../ledger/contract.ts'
import { type Ledger, type OrderQuery, rechargeExpiry } from '../../ledger/index.ts'

export interface PendingOrders {
  withdrawals: number
  transfers: number
  recharges: number
}

/** Includes the open transfers that the workspace would receive. */
export const countPendingOrders = async (
  ledger: Ledger,
  tx: Tx,
  workspace: WorkspaceId,
  at: Instant,
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
    withdrawals: await count('WITHDRAWAL'),
    transfers: await count('TRANSFER'),
    recharges: await count('RECHARGE', { ...rechargeExpiry, at }),
  }
}
