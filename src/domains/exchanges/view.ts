import { formatMoney, type Instant, toIso, toIsoOrNull } from '../../kernel/index.ts'
import { type Order, reachedAt, toCodedValue, toOrderView, type Viewer } from '../../ledger/index.ts'
import { exchangeStatus, fixedSide, type QuoteStatus, quoteStatus } from './contract.ts'
import { parseFigures } from './order.ts'
import type { CurrentRate } from './rates.ts'
import type { Figures } from './rules.ts'

const toFiguresView = ({ source, target, fee, rate }: Figures) => ({
  sourceCurrency: source.currency,
  targetCurrency: target.currency,
  sourceAmount: formatMoney(source),
  targetAmount: formatMoney(target),
  rate,
  feeAmount: formatMoney(fee),
  feeCurrency: fee.currency,
})

/** A quote with its current status. */
export interface QuoteState {
  id: string
  figures: Figures
  expiresAt: Instant
  status: QuoteStatus
}

export const toQuoteView = ({ id, figures, expiresAt, status }: QuoteState, viewer: Viewer) => ({
  quoteBizId: id,
  ...toFiguresView(figures),
  fixedSide: toCodedValue(fixedSide, figures.fixedSide, viewer),
  expiresAt: toIso(expiresAt),
  quoteStatus: toCodedValue(quoteStatus, status, viewer),
})

/** Throws if the order is not an exchange. */
export const toExchangeView = (order: Order, viewer: Viewer) => {
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

export const toRateView = ({ source, target, rate, updatedBy, asOf }: CurrentRate) => ({
  sourceCurrency: source,
  targetCurrency: target,
  rate,
  updatedBy,
  updatedAt: toIso(asOf),
})
