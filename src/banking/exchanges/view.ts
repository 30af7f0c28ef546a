import { formatMoney, toIso, toIsoOrNull } from '../../kernel/index.ts'
import { type Order, reachedAt, toCodedValue, toOrderView, type Viewer } from '../../ledger/index.ts'
import { exchangeStatus, fixedSide, quoteStatus } from './contract.ts'
import { parseFigures } from './order.ts'
import type { ProposedRate } from './rate-store.ts'
import type { CurrentRate } from './rates.ts'
import type { Figures } from './rules.ts'
import type { QuoteState } from './service.ts'

export function toQuoteView({ id, figures, expiresAt, status }: QuoteState, viewer: Viewer) {
  return {
    quoteBizId: id,
    ...toFiguresView(figures),
    fixedSide: toCodedValue(fixedSide, figures.fixedSide, viewer),
    expiresAt: toIso(expiresAt),
    quoteStatus: toCodedValue(quoteStatus, status, viewer),
  }
}

export function toRateView({ pair, inForce, pending, isQuoted }: CurrentRate) {
  return {
    sourceCurrency: pair.source,
    targetCurrency: pair.target,
    rate: inForce?.rate ?? null,
    quoted: isQuoted,
    updatedBy: inForce?.updatedBy ?? null,
    confirmedBy: inForce?.confirmedBy ?? null,
    updatedAt: toIsoOrNull(inForce?.updatedAt ?? null),
    expiresAt: toIsoOrNull(inForce?.expiresAt ?? null),
    pending: pending && toPendingView(pending),
  }
}

/** Throws if the order is not an exchange. */
export function toExchangeView(order: Order, viewer: Viewer) {
  const { sourceWalletBizId, targetWalletBizId, data } = order
  if (sourceWalletBizId === null || targetWalletBizId === null) throw new TypeError(`${order.bizId} lacks a wallet`)
  return {
    ...toOrderView(order, exchangeStatus, viewer),
    ...toFiguresView(parseFigures(data)),
    quoteBizId: data.quoteBizId ?? '',
    sourceWalletBizId,
    targetWalletBizId,
    exchangeStatus: toCodedValue(exchangeStatus, order.status, viewer),
    failureCode: data.failureCode ?? null,
    completedAt: toIsoOrNull(reachedAt(order, 'COMPLETED')),
  }
}

function toPendingView({ source, target, rate, proposedBy, proposedAt, expiresAt }: ProposedRate) {
  return {
    sourceCurrency: source,
    targetCurrency: target,
    rate,
    setBy: proposedBy,
    setAt: toIso(proposedAt),
    expiresAt: toIso(expiresAt),
  }
}

function toFiguresView({ source, target, fee, rate }: Figures) {
  return {
    sourceCurrency: source.currency,
    targetCurrency: target.currency,
    sourceAmount: formatMoney(source),
    targetAmount: formatMoney(target),
    rate,
    feeAmount: formatMoney(fee),
    feeCurrency: fee.currency,
  }
}
