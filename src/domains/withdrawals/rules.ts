import type { Configuration } from '../../config/index.ts'
import { parseTariff, type Tariff } from '../../ledger/index.ts'

export type PayoutType = PayoutSettings['channelType']

/** The limits and fees of payouts, by channel type and currency, as configured. */
export type PayoutSettings = Configuration['money']['withdrawal']['payouts'][number]

const keyOf = (channelType: PayoutType, currency: string): string => `${channelType} ${currency}`

/** The tariffs of payouts by channel type and currency. */
export class PayoutTariffs {
  readonly #tariffs: ReadonlyMap<string, Tariff>

  /** Throws a RangeError for an invalid amount, so that a wrong setting stops the start. */
  constructor(settings: readonly PayoutSettings[]) {
    this.#tariffs = new Map(settings.map((each) => [keyOf(each.channelType, each.currency), parseTariff(each)]))
  }

  /** Undefined if the deployment has no payouts of this type and currency. */
  find(channelType: PayoutType, currency: string): Tariff | undefined {
    return this.#tariffs.get(keyOf(channelType, currency))
  }
}
