import type { Configuration } from '../../config/index.ts'
import { invalid, Refusal, type WalletId } from '../../kernel/index.ts'
import { type Charge, computeCharge, parseTariff, type Tariff, type Wallet } from '../../ledger/index.ts'

export type PayoutType = PayoutSettings['channelType']

/** The limits and fees of payouts, by channel type and currency, as configured. */
export type PayoutSettings = Configuration['money']['withdrawal']['payouts'][number]

const keyOf = (channelType: PayoutType, currency: string): string => `${channelType} ${currency}`

/** The tariffs of payouts by channel type and currency. */
export class PayoutTariffs {
  readonly #tariffs: ReadonlyMap<string, Tariff>

  /** Parses the tariffs. Throws a RangeError for an invalid amount, so that a wrong setting stops the start. */
  constructor(settings: readonly PayoutSettings[]) {
    this.#tariffs = new Map(settings.map((each) => [keyOf(each.channelType, each.currency), parseTariff(each)]))
  }

  /** Returns the tariff, or undefined if the deployment has no payouts of this type and currency. */
  find(channelType: PayoutType, currency: string): Tariff | undefined {
    return this.#tariffs.get(keyOf(channelType, currency))
  }
}

/** The fields of a withdrawal channel that withdrawals use. */
export interface PayoutChannel {
  channelType: PayoutType
  channelStatus: string
  currency: string
}

/** A requested withdrawal. */
export interface WithdrawalInput {
  wallet: WalletId
  channel: string
  /** The amount as a decimal string in the wallet's currency. */
  amount: string
  remark: string | null
}

/** The tariff, amount and fee of a withdrawal. */
export interface WithdrawalTerms extends Charge, Omit<WithdrawalInput, 'amount'> {
  channelType: PayoutType
  tariff: Tariff
}

/**
 * Returns the terms of a withdrawal from the wallet. Throws CHANNEL.NOT_AVAILABLE or WALLET.LIMIT_EXCEEDED, and
 * VALIDATION.INVALID_PARAMETER for a channel of another currency.
 */
export const computeTerms = (
  { channel, amount, remark }: WithdrawalInput,
  wallet: Pick<Wallet, 'bizId' | 'currency'>,
  { channelType, channelStatus, currency }: PayoutChannel,
  payouts: PayoutTariffs,
): WithdrawalTerms => {
  if (currency !== wallet.currency)
    throw invalid('withdrawalChannelBizId', `the channel's currency is not ${wallet.currency}`)
  const tariff = payouts.find(channelType, currency)
  if (channelStatus !== 'ACTIVE' || !tariff)
    throw new Refusal('CHANNEL.NOT_AVAILABLE', { internal: `${channelStatus} channel in ${currency}` })
  return { ...computeCharge(tariff, amount), wallet: wallet.bizId, channel, channelType, tariff, remark }
}
