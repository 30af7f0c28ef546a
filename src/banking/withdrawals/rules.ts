import type { Configuration } from '../../api/domain.ts'
import { type AccountId, invalid, Refusal, type WalletId } from '../../kernel/index.ts'
import { type Charge, computeCharge, parseTariff, type Tariff, type Wallet } from '../../ledger/index.ts'

export type PayoutType = PayoutSettings['channelType']

export type PayoutSettings = Configuration['money']['withdrawal']['payouts'][number]

const keyOf = (channelType: PayoutType, currency: string): string => `${channelType} ${currency}`

export class PayoutTariffs {
  readonly #tariffs: ReadonlyMap<string, Tariff>

  /** Throws a RangeError for an invalid amount, so that an invalid setting prevents startup. */
  constructor(settings: readonly PayoutSettings[]) {
    this.#tariffs = new Map(settings.map((each) => [keyOf(each.channelType, each.currency), parseTariff(each)]))
  }

  /** Returns undefined if the deployment does not offer payouts of this type in this currency. */
  find(channelType: PayoutType, currency: string): Tariff | undefined {
    return this.#tariffs.get(keyOf(channelType, currency))
  }
}

export interface PayoutChannel {
  channelType: PayoutType
  channelStatus: string
  currency: string
  /** The accounts that created and verified the channel. */
  actors: readonly AccountId[]
  /** Equal for the same account in all workspaces. */
  accountDigest: string
}

export interface WithdrawalInput {
  wallet: WalletId
  channel: string
  /** A decimal string in the wallet's currency. */
  amount: string
  remark: string | null
}

export interface WithdrawalTerms extends Charge, Omit<WithdrawalInput, 'amount'> {
  channelType: PayoutType
  accountDigest: string
  tariff: Tariff
}

/**
 * Throws CHANNEL.NOT_AVAILABLE or WALLET.LIMIT_EXCEEDED. Throws VALIDATION.INVALID_PARAMETER if the channel and the
 * wallet have different currencies.
 */
export const computeTerms = (
  { channel, amount, remark }: WithdrawalInput,
  wallet: Pick<Wallet, 'bizId' | 'currency'>,
  { channelType, channelStatus, currency, accountDigest }: PayoutChannel,
  payouts: PayoutTariffs,
): WithdrawalTerms => {
  if (currency !== wallet.currency)
    throw invalid('withdrawalChannelBizId', `the channel's currency is not ${wallet.currency}`)
  const tariff = payouts.find(channelType, currency)
  if (channelStatus !== 'ACTIVE' || !tariff)
    throw new Refusal('CHANNEL.NOT_AVAILABLE', { internal: `${channelStatus} channel in ${currency}` })
  return { ...computeCharge(tariff, amount), wallet: wallet.bizId, channel, channelType, accountDigest, tariff, remark }
}
