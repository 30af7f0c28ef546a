import { expiryOf, waitingStatuses } from '../../contract/ledger/life-cycle.ts'
import type { Tx } from '../../database/index.ts'
import type { Instant, WorkspaceId } from '../../kernel/index.ts'
import type { Ledger, OrderQuery } from '../../ledger/index.ts'

const countedTypes = { withdrawals: 'WITHDRAWAL', transfers: 'TRANSFER', recharges: 'RECHARGE' } as const

/** Lacks the orders of a domain that is off. */
export type PendingOrders = Partial<Record<keyof typeof countedTypes, number>>

/** Includes the open transfers that the workspace would receive. */
export async function countPendingOrders(
  ledger: Ledger,
  tx: Tx,
  workspace: WorkspaceId,
  at: Instant,
): Promise<PendingOrders> {
  const within = ledger.within(tx)
  const page = { currentPage: 1, pageSize: 1, sortBy: 'createdAt', sortOrder: 'asc' } as const
  const count = async (type: OrderQuery['type']): Promise<number | undefined> => {
    const lifeCycle = ledger.lifeCycleOf(type)
    if (!lifeCycle) return undefined
    const [statuses, expiry] = [waitingStatuses(lifeCycle), expiryOf(lifeCycle)]
    const query = { ...page, type, statuses, workspace: null, participant: workspace }
    const found = await within.listOrders({ ...query, ...(expiry && { expiry: { ...expiry, at } }) })
    return found.pagination.totalRecords
  }
  const pending: PendingOrders = {}
  for (const [name, type] of Object.entries(countedTypes)) {
    const found = await count(type)
    if (found !== undefined) Object.assign(pending, { [name]: found })
  }
  return pending
}
