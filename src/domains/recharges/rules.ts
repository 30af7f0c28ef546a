import type { Configuration } from '../../config/index.ts'
import { invalid, Refusal, type WalletId } from '../../kernel/index.ts'
import { type Charge, computeCharge, parseTariff, type Tariff, type Wallet } from '../../ledger/index.ts'

/** A channel for incoming payments, as configured. */
export type ChannelSettings = Configuration['money']['recharge']['channels'][number]

/** A channel with its parsed tariff. */
export interface Channel {
  settings: ChannelSettings
  tariff: Tariff
}

/** Channels by code. */
export type Channels = ReadonlyMap<string, Channel>

/** Parses the channels. Throws a RangeError for an invalid amount, so that a wrong setting stops the start. */
export const parseChannels = (settings: readonly ChannelSettings[]): Channels =>
  new Map(settings.map((each) => [each.channelCode, { settings: each, tariff: parseTariff(each) }]))

/** A requested recharge. */
export interface RechargeInput {
  wallet: WalletId
  channelCode: string
  /** The amount as a decimal string in the wallet's currency. */
  amount: string
}

/** The channel, amount and fee of a recharge. */
export interface RechargeTerms extends Charge {
  wallet: WalletId
  channel: Channel
}

/**
 * Returns the terms of a recharge into the wallet. Throws CHANNEL.NOT_AVAILABLE, WALLET.LIMIT_EXCEEDED or
 * WALLET.NOT_ACTIVE, and VALIDATION.INVALID_PARAMETER for a channel of another currency.
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
