import { z } from 'zod'
import type { SettingsContext } from '../../api/domain.ts'
import { currencyErrors, decimalByCurrency, lifetimeMs } from '../../config/values.ts'
import type { Money, WalletId } from '../../kernel/index.ts'
import { parseConfiguredAmount } from '../../ledger/index.ts'

export const transferSettings = z.strictObject({
  transferFee: decimalByCurrency.describe(
    'Fixed fee that the sender of a transfer pays in addition to the amount, by currency.',
  ),
  transferApprovalFrom: decimalByCurrency.describe(
    'Amount from which transfers require approval by an operator, by currency. It applies to the total of a person’s transfers within 24 hours that had no approval.',
  ),
  transferApprovalLifeMs: lifetimeMs(1_000).describe(
    'Time limit in milliseconds for the approval of a transfer. Afterwards, the transfer expires and its funds are released.',
  ),
})

export function checkTransferSettings(
  { transferFee, transferApprovalFrom }: z.output<typeof transferSettings>,
  { currencies }: SettingsContext,
): string[] {
  return currencyErrors(currencies, {
    transferFee: Object.keys(transferFee),
    transferApprovalFrom: Object.keys(transferApprovalFrom),
  })
}

/** Decimal strings, as configured. */
export type AmountsByCurrency = Readonly<Record<string, string>>

export interface TransferSettings {
  /**
   * The total from which a person's transfers in 24 hours need an operator's approval. A currency without an entry
   * needs none.
   */
  approvalThreshold: AmountsByCurrency
  /** Paid by the sender in addition to the amount. A currency without an entry has no fee. */
  fixedFee: AmountsByCurrency
}

export interface TransferRules {
  approvalThreshold: ReadonlyMap<string, Money>
  fixedFee: ReadonlyMap<string, Money>
}

/** Throws a RangeError for an invalid amount, so that an invalid setting prevents startup. */
export function parseTransferRules({ approvalThreshold, fixedFee }: TransferSettings): TransferRules {
  return {
    approvalThreshold: parseAmounts(approvalThreshold),
    fixedFee: parseAmounts(fixedFee),
  }
}

export interface TransferInput {
  source: WalletId
  target: WalletId
  amount: Money
  remark: string | null
  clientReference: string | null
}

export interface TransferTerms extends TransferInput {
  fee: Money
  needsApproval: boolean
  /** Maximum of a person's transfers in 24 hours without approval, in minor units. Null without a threshold. */
  maxWithoutApproval: bigint | null
}

/** The need for approval depends on this amount alone. */
export function computeTerms(input: TransferInput, { approvalThreshold, fixedFee }: TransferRules): TransferTerms {
  const { minor, currency } = input.amount
  const threshold = approvalThreshold.get(currency)
  return {
    ...input,
    fee: fixedFee.get(currency) ?? { minor: 0n, currency },
    needsApproval: threshold !== undefined && minor >= threshold.minor,
    maxWithoutApproval: threshold ? threshold.minor - 1n : null,
  }
}

function parseAmounts(amounts: AmountsByCurrency): ReadonlyMap<string, Money> {
  return new Map(Object.entries(amounts).map(([currency, text]) => [currency, parseConfiguredAmount(text, currency)]))
}
