import { z } from 'zod'
import { type Money, money, type WorkspaceId } from '../../kernel/index.ts'
import { type Entry, feeEntries, feeParties, type Opening, type Party } from '../../ledger/index.ts'
import { fixedSide } from './contract.ts'
import type { Figures } from './rules.ts'
import type { Quote, QuoteId } from './store.ts'

/* Maps an exchange to an order of the ledger. */

const minorUnits = z.string().transform(BigInt)

/** Amounts are strings of minor units. */
const storedFigures = z.object({
  sourceCurrency: z.string(),
  targetCurrency: z.string(),
  sourceAmount: minorUnits,
  targetAmount: minorUnits,
  feeAmount: minorUnits,
  rate: z.string(),
  fixedSide: z.enum(fixedSide.codes),
})

export function toFiguresData({ source, target, fee, rate, fixedSide }: Figures): Record<string, string> {
  return {
    sourceCurrency: source.currency,
    targetCurrency: target.currency,
    sourceAmount: source.minor.toString(),
    targetAmount: target.minor.toString(),
    feeAmount: fee.minor.toString(),
    rate,
    fixedSide,
  }
}

/** Throws if a figure is missing. */
export function parseFigures(data: unknown): Figures {
  const { sourceCurrency, targetCurrency, sourceAmount, targetAmount, feeAmount, ...rest } = storedFigures.parse(data)
  const fee: Money = money(feeAmount, sourceCurrency)
  return { ...rest, source: money(sourceAmount, sourceCurrency), target: money(targetAmount, targetCurrency), fee }
}

export function newExchange(
  id: QuoteId,
  wallets: Pick<Quote, 'sourceWallet' | 'targetWallet'>,
  figures: Figures,
  workspace: WorkspaceId,
): Opening {
  return {
    parties: exchangeParties(wallets, figures, workspace),
    entries: exchangeEntries(figures),
    order: { data: { ...toFiguresData(figures), quoteBizId: id, failureCode: null } },
  }
}

function exchangeParties(
  { sourceWallet, targetWallet }: Pick<Quote, 'sourceWallet' | 'targetWallet'>,
  { source, target, fee }: Figures,
  workspace: WorkspaceId,
): Party[] {
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

/** Both currencies pass through the house's liquidity accounts. */
function exchangeEntries({ source, target, fee }: Figures): Entry[] {
  return [
    { account: 'source', amount: -source.minor, flowType: 'EXCHANGE' },
    { account: 'receivingLiquidity', amount: source.minor, flowType: 'EXCHANGE' },
    { account: 'payingLiquidity', amount: -target.minor, flowType: 'EXCHANGE' },
    { account: 'target', amount: target.minor, flowType: 'EXCHANGE' },
    ...feeEntries('source', fee),
  ]
}
