import { exponentOf, formatMoney, type Instant, money, toIso } from '../../kernel/index.ts'
import { type Balance, type Flow, type Teller, tellCode, type Wallet } from '../../ledger/index.ts'

export const renderWallet = (wallet: Wallet, teller: Teller) => ({
  bizId: wallet.bizId,
  workspaceBizId: wallet.workspaceBizId,
  walletName: wallet.walletName,
  currency: wallet.currency,
  currencyExponent: exponentOf(wallet.currency),
  walletStatus: tellCode('walletStatus', wallet.status, teller),
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

/** A flow's amount has no sign on the wire: its direction says which way it went. */
export const renderFlow = (flow: Flow, teller: Teller) => {
  const { minor, currency } = flow.amount
  const out = minor < 0n
  return {
    bizId: flow.bizId,
    sequence: flow.sequence,
    flowType: tellCode('flowType', flow.flowType, teller),
    direction: tellCode('flowDirection', out ? 'OUT' : 'IN', teller),
    amount: formatMoney(money(out ? -minor : minor, currency)),
    currency,
    balanceAfter: formatMoney(flow.balanceAfter),
    orderType: flow.orderType,
    orderBizId: flow.orderBizId,
    description: flow.remark,
    createdAt: toIso(flow.createdAt),
  }
}
