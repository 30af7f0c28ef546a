import { formatMoney, toIsoOrNull, type WalletId } from '../../kernel/index.ts'
import {
  type Charge,
  type ListedOrder,
  type Order,
  reachedAt,
  toCodedValue,
  toOrderView,
  toWorkspaceKindView,
  type Viewer,
} from '../../ledger/index.ts'
import { channelType } from '../withdrawal-channels/contract.ts'
import { rechargeStatus } from './contract.ts'
import { toRecharge } from './order.ts'
import type { Channel } from './rules.ts'

/** The figures that quotes and orders have in common. */
export const toFiguresView = (wallet: WalletId, channelCode: string, { amount, fee, net }: Charge) => ({
  walletBizId: wallet,
  channelCode,
  amount: formatMoney(amount),
  currency: amount.currency,
  feeAmount: formatMoney(fee),
  netAmount: formatMoney(net),
})

export const toRechargeView = (order: Order, viewer: Viewer) => {
  const { wallet, details, ...charge } = toRecharge(order)
  return {
    ...toOrderView(order, rechargeStatus, viewer),
    ...details,
    ...toFiguresView(wallet, details.channelCode, charge),
    rechargeStatus: toCodedValue(rechargeStatus, order.status, viewer),
    completedAt: toIsoOrNull(reachedAt(order, 'COMPLETED')),
  }
}

/** The same with the kind of the workspace, for operators. */
export const toListedRechargeView = (order: ListedOrder, viewer: Viewer) => ({
  ...toRechargeView(order, viewer),
  ...toWorkspaceKindView(order.workspaceKind, viewer),
})

export const toChannelView = ({ settings, tariff }: Channel, viewer: Viewer) => ({
  channelCode: settings.channelCode,
  channelName: settings.channelName,
  channelType: toCodedValue(channelType, settings.channelType, viewer),
  currency: settings.currency,
  minAmount: formatMoney(tariff.minimum),
  maxAmount: formatMoney(tariff.maximum),
  fixedFee: formatMoney(tariff.fixedFee),
  feeRate: settings.feeRate,
  proofRequired: settings.proofRequired,
  enabled: settings.enabled,
})
