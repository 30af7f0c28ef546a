import { z } from 'zod'
import { formatMoney, type Instant, type Money, money, toIso, toIsoOrNull } from '../../kernel/index.ts'
import { type Order, reachedAt, type Teller, tellCode, tellOrder } from '../../ledger/index.ts'
import { exchangeStatus, fixedSide, type QuoteStatus, quoteStatus } from './contract.ts'
import type { Figures } from './rules.ts'

const minor = z.string().transform(BigInt)

/** What a quote keeps, and its exchange's order after it; amounts are minor units as text. */
const storedFigures = z.object({
  sourceCurrency: z.string(),
  targetCurrency: z.string(),
  sourceAmount: minor,
  targetAmount: minor,
  feeAmount: minor,
  rate: z.string(),
  fixedSide: z.enum(fixedSide.codes),
})

export const stored = ({ source, target, fee, rate, fixedSide }: Figures): Record<string, string> => ({
  sourceCurrency: source.currency,
  targetCurrency: target.currency,
  sourceAmount: source.minor.toString(),
  targetAmount: target.minor.toString(),
  feeAmount: fee.minor.toString(),
  rate,
  fixedSide,
})

export const figuresIn = (data: unknown): Figures => {
  const { sourceCurrency, targetCurrency, sourceAmount, targetAmount, feeAmount, ...rest } = storedFigures.parse(data)
  const of = (amount: bigint, currency: string): Money => money(amount, currency)
  return {
    ...rest,
    source: of(sourceAmount, sourceCurrency),
    target: of(targetAmount, targetCurrency),
    fee: of(feeAmount, sourceCurrency),
  }
}

const tellFigures = ({ source, target, fee, rate }: Figures) => ({
  sourceCurrency: source.currency,
  targetCurrency: target.currency,
  sourceAmount: formatMoney(source),
  targetAmount: formatMoney(target),
  rate,
  feeAmount: formatMoney(fee),
  feeCurrency: fee.currency,
})

export interface QuoteSeen {
  id: string
  figures: Figures
  expiresAt: Instant
  status: QuoteStatus
}

export const tellQuote = ({ id, figures, expiresAt, status }: QuoteSeen, teller: Teller) => ({
  quoteBizId: id,
  ...tellFigures(figures),
  fixedSide: tellCode(fixedSide, figures.fixedSide, teller),
  expiresAt: toIso(expiresAt),
  quoteStatus: tellCode(quoteStatus, status, teller),
})

/** An order of the book as the exchange that it is. */
export const tellExchange = (order: Order, teller: Teller) => {
  const { sourceWalletBizId, targetWalletBizId, data } = order
  if (sourceWalletBizId === null || targetWalletBizId === null) throw new TypeError(`${order.bizId} lacks a wallet`)
  return {
    ...tellOrder(order, exchangeStatus, teller, true),
    ...tellFigures(figuresIn(data)),
    quoteBizId: data.quoteBizId ?? '',
    sourceWalletBizId,
    targetWalletBizId,
    exchangeStatus: tellCode(exchangeStatus, order.status, teller),
    failureCode: data.failureCode ?? null,
    completedAt: toIsoOrNull(reachedAt(order, 'COMPLETED')),
  }
}
