import { formatMoney, toIsoOrNull } from '../../kernel/index.ts'
import { type Order, reachedAt, toCodedValue, toOrderView, type Viewer } from '../../ledger/index.ts'
import { withdrawalStatus } from './contract.ts'
import { toWithdrawal } from './order.ts'

export function toWithdrawalView(order: Order, viewer: Viewer) {
  const { wallet, amount, fee, net, ...notes } = toWithdrawal(order)
  return {
    ...toOrderView(order, withdrawalStatus, viewer),
    ...notes,
    walletBizId: wallet,
    amount: formatMoney(amount),
    currency: amount.currency,
    feeAmount: formatMoney(fee),
    netAmount: formatMoney(net),
    withdrawalStatus: toCodedValue(withdrawalStatus, order.status, viewer),
    completedAt: toIsoOrNull(reachedAt(order, 'COMPLETED')),
  }
}
