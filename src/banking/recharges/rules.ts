import type { Configuration } from '../../api/domain.ts'
import { invalid, Refusal, type WalletId } from '../../kernel/index.ts'
import { type Charge, computeCharge, parseTariff, type Tariff, type Wallet } from '../../ledger/index.ts'

export type ChannelSettings = Configuration['money']['recharge']['channels'][number]

export interface Channel {
  settings: ChannelSettings
  tariff: Tariff
}

/** Channels by code. */
export type Channels = ReadonlyMap<string, Channel>

/** Throws a RangeError for an invalid amount, so that an invalid setting prevents startup. */
export const parseChannels = (settings: readonly ChannelSettings[]): Channels =>
  new Map(settings.map((each) => [each.channelCode, { settings: each, tariff: parseTariff(each) }]))

export interface RechargeInput {
  wallet: WalletId
  channelCode: string
  /** A decimal string in the wallet's currency. */
  amount: string
}

export interface RechargeTerms extends Charge {
  wallet: WalletId
  channel: Channel
}

/**
 * Throws CHANNEL.NOT_AVAILABLE, WALLET.LIMIT_EXCEEDED or WALLET.NOT_ACTIVE. Throws VALIDATION.INVALID_PARAMETER if the
 * channel and the wallet have different currencies.
 */
export const computeTerms = (
  { channelCode, amount }: RechargeInput,
  wallet: Pick<Wallet, 'bizId' | 'currency' | 'status'>,
  channels: Channels,
): RechargeTerms => {
  const channel = channels.get(channelCode)
  if (!channel?.settings.enabled)
    throw new Refusal('CHANNEL.NOT_AVAILABLE', { internal: 'unknown or disabled channel' })
  if (channel.settings.currency !== wallet.currency)
    throw invalid('channelCode', `the channel's currency is not ${wallet.currency}`)
  const charge = computeCharge(channel.tariff, amount)
  if (wallet.status !== 'ACTIVE') throw new Refusal('WALLET.NOT_ACTIVE', { internal: `the wallet is ${wallet.status}` })
  return { ...charge, wallet: wallet.bizId, channel }
}
