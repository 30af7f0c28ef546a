import { invalid, isCurrency, type Money, parseMoney, type WalletId } from '../../kernel/index.ts'

/** Decimal strings by currency; a currency that is not listed has none. */
export type AmountsByCurrency = Readonly<Record<string, string>>

export interface TransferRules {
  /** From this amount on, an operator has to agree. */
  approvalThreshold: AmountsByCurrency
  /** What a transfer costs its sender, on top of the amount. */
  fixedFee: AmountsByCurrency
}

export interface TransferTerms {
  source: WalletId
  target: WalletId
  amount: Money
  fee: Money
  needsApproval: boolean
}

/** A configured amount in minor units; one that its currency cannot express is a fault of the configuration. */
const configured = (amounts: AmountsByCurrency, currency: string): bigint | undefined => {
  const text = Object.hasOwn(amounts, currency) ? amounts[currency] : undefined
  if (text === undefined) return undefined
  const parsed = parseMoney(text, currency)
  if (!parsed) throw new RangeError(`${text} is no amount of ${currency}`)
  return parsed.minor
}

/** Every rule's text is read once at start, so that a wrong one stops the start and no transfer. */
export const checkRules = (rules: TransferRules): void => {
  for (const amounts of [rules.approvalThreshold, rules.fixedFee]) {
    for (const currency of Object.keys(amounts)) configured(amounts, currency)
  }
}

/** What a transfer comes to, or a refusal that names the field at fault. */
export const termsOf = (
  asked: { source: WalletId; target: WalletId; amount: string; currency: string },
  rules: TransferRules,
): TransferTerms => {
  const { source, target, currency } = asked
  if (!isCurrency(currency)) throw invalid('currency')
  const amount = parseMoney(asked.amount, currency)
  if (!amount || amount.minor <= 0n) throw invalid('amount')
  if (source === target) throw invalid('targetWalletBizId', 'a transfer to itself')
  const threshold = configured(rules.approvalThreshold, currency)
  return {
    source,
    target,
    amount,
    fee: { minor: configured(rules.fixedFee, currency) ?? 0n, currency },
    needsApproval: threshold !== undefined && amount.minor >= threshold,
  }
}
