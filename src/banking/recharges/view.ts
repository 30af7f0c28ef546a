import { channelType } from '../../contract/shared-schemas.ts'
import { formatMoney, toIso, toIsoOrNull, type WalletId } from '../../kernel/index.ts'
import { type Charge, type Order, reachedAt, toCodedValue, toOrderView, type Viewer } from '../../ledger/index.ts'
import { rechargeStatus } from './contract.ts'
import { toRecharge } from './order.ts'
import type { Channel } from './rules.ts'
import type { ListedAllowance, ProofUse } from './store.ts'

export function toChannelView({ settings, tariff }: Channel, viewer: Viewer) {
  return {
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
  }
}

export function toUsesView(uses: ProofUse[] | undefined) {
  return {
    proofUsedBefore: uses?.map((use) => ({
      rechargeBizId: use.order,
      workspaceBizId: use.workspace,
      createdAt: toIso(use.at),
    })),
  }
}

export function toAllowancesView(allowances: ListedAllowance[] | undefined) {
  return {
    referenceAllowances: allowances?.map(({ externalReference, reason, allowedBy, createdAt, usedAt }) => ({
      externalReference,
      reason,
      actorBizId: allowedBy,
      createdAt: toIso(createdAt),
      usedAt: toIsoOrNull(usedAt),
    })),
  }
}

export function toFiguresView(wallet: WalletId, channelCode: string, { amount, fee, net }: Charge) {
  return {
    walletBizId: wallet,
    channelCode,
    amount: formatMoney(amount),
    currency: amount.currency,
    feeAmount: formatMoney(fee),
    netAmount: formatMoney(net),
  }
}

export function toRechargeView(order: Order, viewer: Viewer) {
  const { wallet, details, received, ...charge } = toRecharge(order)
  return {
    ...toOrderView(order, rechargeStatus, viewer),
    ...details,
    ...toFiguresView(wallet, details.channelCode, charge),
    receivedAmount: received && formatMoney(received),
    rechargeStatus: toCodedValue(rechargeStatus, order.status, viewer),
    completedAt: toIsoOrNull(reachedAt(order, 'COMPLETED')),
  }
}
