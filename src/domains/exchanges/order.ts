import { z } from 'zod'
import { type Money, money, type WorkspaceId } from '../../kernel/index.ts'
import { type Entry, feeEntries, feeParties, type NewOrder, type Party } from '../../ledger/index.ts'
import { fixedSide } from './contract.ts'
import type { Figures } from './rules.ts'
import type { Quote, QuoteId } from './store.ts'

/* Maps an exchange to an order of the ledger: its data, accounts and entries. */

const minorUnits = z.string().transform(BigInt)

/** The figures as a quote and its order store them. Amounts are strings of minor units. */
const storedFigures = z.object({
  sourceCurrency: z.string(),
  targetCurrency: z.string(),
  sourceAmount: minorUnits,
  targetAmount: minorUnits,
  feeAmount: minorUnits,
  rate: z.string(),
  fixedSide: z.enum(fixedSide.codes),
})

/** Converts figures to their stored form. */
export const toFiguresData = ({ source, target, fee, rate, fixedSide }: Figures): Record<string, string> => ({
  sourceCurrency: source.currency,
  targetCurrency: target.currency,
  sourceAmount: source.minor.toString(),
  targetAmount: target.minor.toString(),
  feeAmount: fee.minor.toString(),
  rate,
  fixedSide,
})

/** Returns the figures in the data of a quote or an order. Throws if they are incomplete. */
export const parseFigures = (data: unknown): Figures => {
  const { sourceCurrency, targetCurrency, sourceAmount, targetAmount, feeAmount, ...rest } = storedFigures.parse(data)
  const fee: Money = money(feeAmount, sourceCurrency)
  return { ...rest, source: money(sourceAmount, sourceCurrency), target: money(targetAmount, targetCurrency), fee }
}

/** Returns the order of a completed exchange with the figures of a quote. */
export const newExchange = (quote: QuoteId, figures: Figures, workspace: WorkspaceId): NewOrder => ({
  workspace,
  type: 'EXCHANGE',
  data: { ...toFiguresData(figures), quoteBizId: quote, failureCode: null },
  steps: [{ status: 'PROCESSING' }, { status: 'COMPLETED' }],
})

/**
 * Returns the accounts of an exchange: both wallets of the workspace, which must be active, and the house's liquidity
 * in both currencies.
 */
export const exchangeParties = (
  { sourceWallet, targetWallet }: Pick<Quote, 'sourceWallet' | 'targetWallet'>,
  { source, target, fee }: Figures,
  workspace: WorkspaceId,
): Party[] => {
  const wallet = { workspace, active: true, currencyField: 'quoteBizId' }
  return [
    { ...wallet, label: 'source', wallet: sourceWallet, currency: source.currency },
    { ...wallet, label: 'target', wallet: targetWallet, currency: target.currency },
    {
      label: 'receivingLiquidity',
      house: 'LIQUIDITY',
      currency: source.currency,
      insufficientFunds: 'SYSTEM.INTERNAL_ERROR',
    },
    {
      label: 'payingLiquidity',
      house: 'LIQUIDITY',
      currency: target.currency,
      insufficientFunds: 'EXCHANGE.RATE_UNAVAILABLE',
    },
    ...feeParties(fee),
  ]
}

/** Returns the entries of an exchange. Both sides pass through the house's liquidity; the fee is separate. */
export const exchangeEntries = ({ source, target, fee }: Figures): Entry[] => [
  { account: 'source', amount: -source.minor, flowType: 'EXCHANGE' },
  { account: 'receivingLiquidity', amount: source.minor, flowType: 'EXCHANGE' },
  { account: 'payingLiquidity', amount: -target.minor, flowType: 'EXCHANGE' },
  { account: 'target', amount: target.minor, flowType: 'EXCHANGE' },
  ...feeEntries('source', fee),
]
