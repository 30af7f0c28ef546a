import { formatMoney, toIsoOrNull, type WorkspaceId } from '../../kernel/index.ts'
import { type Order, reachedAt, type Teller, tellCode, tellOrder } from '../../ledger/index.ts'
import { transferStatus } from './contract.ts'
import { transferOf } from './transfer.ts'

/** `viewer` is the workspace that looks, null for an operator. A recipient does not see the sender's own notes. */
export const renderTransfer = (order: Order, viewer: WorkspaceId | null, teller: Teller) => {
  const transfer = transferOf(order)
  const own = viewer === null || viewer === order.workspaceBizId
  return {
    ...tellOrder(order, transferStatus, teller, own),
    sourceWalletBizId: transfer.source,
    targetWalletBizId: transfer.target,
    amount: formatMoney(transfer.amount),
    currency: transfer.amount.currency,
    feeAmount: formatMoney(transfer.fee),
    remark: transfer.remark,
    clientReference: own ? transfer.clientReference : null,
    transferStatus: tellCode(transferStatus, order.status, teller),
    failureCode: transfer.failureCode,
    completedAt: toIsoOrNull(reachedAt(order, 'COMPLETED')),
  }
}
