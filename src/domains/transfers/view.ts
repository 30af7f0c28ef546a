import { formatMoney, toIsoOrNull } from '../../kernel/index.ts'
import {
  isOwnOrder,
  type ListedOrder,
  type Order,
  reachedAt,
  toCodedValue,
  toOrderView,
  toWorkspaceKindView,
  type Viewer,
} from '../../ledger/index.ts'
import { transferStatus } from './contract.ts'
import { toTransfer } from './order.ts'

/** A transfer as the viewer sees it: the receiver does not see the sender's client reference. */
export const toTransferView = (order: Order, viewer: Viewer) => {
  const transfer = toTransfer(order)
  return {
    ...toOrderView(order, transferStatus, viewer),
    sourceWalletBizId: transfer.source,
    targetWalletBizId: transfer.target,
    amount: formatMoney(transfer.amount),
    currency: transfer.amount.currency,
    feeAmount: formatMoney(transfer.fee),
    remark: transfer.remark,
    clientReference: isOwnOrder(order, viewer) ? transfer.clientReference : null,
    transferStatus: toCodedValue(transferStatus, order.status, viewer),
    failureCode: transfer.failureCode,
    completedAt: toIsoOrNull(reachedAt(order, 'COMPLETED')),
  }
}

/** The same with the kind of the workspace, for operators' lists. */
export const toListedTransferView = (order: ListedOrder, viewer: Viewer) => ({
  ...toTransferView(order, viewer),
  ...toWorkspaceKindView(order.workspaceKind, viewer),
})
