import { exponentOf, formatMoney, type Instant, toIso } from '../../kernel/index.ts'
import { flowDirection, flowType, walletStatus } from '../../ledger/contract.ts'
import { type Balance, type Flow, type Teller, tellCode, tellWay, type Wallet } from '../../ledger/index.ts'

export const renderWallet = (wallet: Wallet, teller: Teller) => ({
  bizId: wallet.bizId,
  workspaceBizId: wallet.workspaceBizId,
  walletName: wallet.walletName,
  currency: wallet.currency,
  currencyExponent: exponentOf(wallet.currency),
  walletStatus: tellCode(walletStatus, wallet.status, teller),
  isDefault: wallet.isDefault,
  createdAt: toIso(wallet.createdAt),
  updatedAt: toIso(wallet.updatedAt),
})

export const renderBalance = (balance: Balance, asOf: Instant) => ({
  walletBizId: balance.wallet,
  currency: balance.total.currency,
  availableBalance: formatMoney(balance.available),
  heldBalance: formatMoney(balance.held),
  totalBalance: formatMoney(balance.total),
  asOf: toIso(asOf),
  version: balance.version,
})

export const renderFlow = (flow: Flow, teller: Teller) => {
  const { direction, amount } = tellWay(flow)
  return {
    bizId: flow.bizId,
    sequence: flow.sequence,
    flowType: tellCode(flowType, flow.flowType, teller),
    direction: tellCode(flowDirection, direction, teller),
    amount,
    currency: flow.amount.currency,
    balanceAfter: formatMoney(flow.balanceAfter),
    orderType: flow.orderType,
    orderBizId: flow.orderBizId,
    description: flow.remark,
    createdAt: toIso(flow.createdAt),
  }
}
