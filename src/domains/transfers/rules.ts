import type { Money, WalletId } from '../../kernel/index.ts'
import { parseConfiguredAmount } from '../../ledger/index.ts'

/** Decimal strings by currency, as configured. */
export type AmountsByCurrency = Readonly<Record<string, string>>

/** The settings of transfers: decimal strings by currency. */
export interface TransferSettings {
  /** The amount from which a transfer needs an operator's approval. A currency without an entry needs none. */
  approvalThreshold: AmountsByCurrency
  /** The fee that the sender pays in addition to the amount. A currency without an entry has no fee. */
  fixedFee: AmountsByCurrency
}

/** The parsed settings, by currency. */
export interface TransferRules {
  approvalThreshold: ReadonlyMap<string, Money>
  fixedFee: ReadonlyMap<string, Money>
}

const parseAmounts = (amounts: AmountsByCurrency): ReadonlyMap<string, Money> =>
  new Map(Object.entries(amounts).map(([currency, text]) => [currency, parseConfiguredAmount(text, currency)]))

/**
 * Parses the settings. Throws a RangeError for an amount with too many decimal places, so that a wrong setting stops
 * the start.
 */
export const parseTransferRules = ({ approvalThreshold, fixedFee }: TransferSettings): TransferRules => ({
  approvalThreshold: parseAmounts(approvalThreshold),
  fixedFee: parseAmounts(fixedFee),
})

/** A requested transfer. */
export interface TransferInput {
  source: WalletId
  target: WalletId
  amount: Money
  remark: string | null
  clientReference: string | null
}

/** A transfer with its fee. */
export interface TransferTerms extends TransferInput {
  fee: Money
  needsApproval: boolean
}

/** Returns the fee of a transfer, and whether an operator must approve it. */
export const computeTerms = (input: TransferInput, { approvalThreshold, fixedFee }: TransferRules): TransferTerms => {
  const { minor, currency } = input.amount
  const threshold = approvalThreshold.get(currency)
  return {
    ...input,
    fee: fixedFee.get(currency) ?? { minor: 0n, currency },
    needsApproval: threshold !== undefined && minor >= threshold.minor,
  }
}
