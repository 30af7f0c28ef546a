import { type Tariff, type TariffTerms, tariffOf } from '../../ledger/index.ts'

export type PayoutType = 'BANK' | 'CRYPTO'

/** What a payout takes and costs, by the type of its channel and its currency. */
export type PayoutTerms = TariffTerms & { channelType: PayoutType }

/** The tariff of a payout; undefined where there are none of the kind. */
export type Payouts = (channelType: PayoutType, currency: string) => Tariff | undefined

const keyOf = (channelType: PayoutType, currency: string): string => `${channelType} ${currency}`

/** Every text is read once, so that a wrong one stops the start and no withdrawal. */
export const payoutsOf = (terms: readonly PayoutTerms[]): Payouts => {
  const tariffs = new Map(terms.map((each) => [keyOf(each.channelType, each.currency), tariffOf(each)]))
  return (channelType, currency) => tariffs.get(keyOf(channelType, currency))
}
