import { formatMoney, toIsoOrNull } from '../../kernel/index.ts'
import { isOwnOrder, type Order, reachedAt, toCodedValue, toOrderView, type Viewer } from '../../ledger/index.ts'
import { transferStatus } from './contract.ts'
import { toTransfer } from './order.ts'

/** The recipient does not see the sender's client reference. */
export function toTransferView(order: Order, viewer: Viewer) {
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
