import { exponentOf, formatMoney, type Instant, toIso } from '../../kernel/index.ts'
import { flowDirection, walletStatus } from '../../ledger/contract.ts'
import {
  type Balance,
  type Flow,
  toCodedValue,
  toFlowAmountView,
  toFlowTypeView,
  type Viewer,
  type Wallet,
} from '../../ledger/index.ts'

export function toWalletView(wallet: Wallet, viewer: Viewer) {
  return {
    bizId: wallet.bizId,
    workspaceBizId: wallet.workspaceBizId,
    walletName: wallet.walletName,
    currency: wallet.currency,
    currencyExponent: exponentOf(wallet.currency),
    walletStatus: toCodedValue(walletStatus, wallet.status, viewer),
    isDefault: wallet.isDefault,
    createdAt: toIso(wallet.createdAt),
    updatedAt: toIso(wallet.updatedAt),
  }
}

export function toBalanceView(balance: Balance, asOf: Instant) {
  return {
    walletBizId: balance.wallet,
    currency: balance.total.currency,
    availableBalance: formatMoney(balance.available),
    heldBalance: formatMoney(balance.held),
    totalBalance: formatMoney(balance.total),
    asOf: toIso(asOf),
    version: balance.version,
  }
}

/** Returns a flow. `direction` determines the sign of `amount`. */
export function toFlowView(flow: Flow, viewer: Viewer) {
  const { direction, amount } = toFlowAmountView(flow)
  return {
    bizId: flow.bizId,
    sequence: flow.sequence,
    flowType: toFlowTypeView(flow.flowType, viewer),
    direction: toCodedValue(flowDirection, direction, viewer),
    amount,
    currency: flow.amount.currency,
    balanceAfter: formatMoney(flow.balanceAfter),
    orderType: flow.orderType,
    orderBizId: flow.orderBizId,
    description: flow.remark,
    createdAt: toIso(flow.createdAt),
  }
}
