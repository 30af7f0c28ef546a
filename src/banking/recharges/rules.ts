import { z } from 'zod'
import type { SettingsContext } from '../../api/domain.ts'
import { areDistinct, currencyErrors, lifetimeMs } from '../../config/values.ts'
import { moneyOf } from '../../contract/fields.ts'
import { compare, days, invalid, type Money, Refusal, type WalletId } from '../../kernel/index.ts'
import {
  type Charge,
  chargeOf,
  computeCharge,
  parseTariff,
  type Tariff,
  tariffSettings,
  type Wallet,
} from '../../ledger/index.ts'

const rechargeChannel = tariffSettings({
  channelCode: z
    .string()
    .min(1)
    .max(64)
    .describe('Code of the recharge channel. Recharge orders store the code. Do not change it once orders exist.'),
  channelName: z.string().min(1).describe('Name of the recharge channel that users see.'),
  channelType: z.enum(['BANK', 'CRYPTO', 'CARD']).describe('Type of payment in the recharge channel.'),
  proofRequired: z
    .boolean()
    .describe('Whether an operator can confirm an order only after a proof of payment was submitted.'),
  enabled: z.boolean().describe('Whether users can choose the recharge channel for new orders.'),
})
export type ChannelSettings = z.output<typeof rechargeChannel>

export const rechargeSettings = z.strictObject({
  lifeMs: lifetimeMs(1_000).describe(
    'Time limit in milliseconds for paying a recharge or submitting its proof of payment. Afterwards, the recharge expires.',
  ),
  referenceRequired: z
    .boolean()
    .describe(
      'Whether an operator must enter the external reference of the payment to confirm a recharge. In each channel, a reference can confirm only one recharge.',
    ),
  channels: z
    .array(rechargeChannel)
    .refine((channels) => areDistinct(channels.map(({ channelCode }) => channelCode)), 'each channel code once')
    .describe(
      'The channels for incoming payments. The fee (fixedFee plus feeRate times the amount) is deducted from the amount. dailyMax limits the total per workspace and person within 24 hours. With proofRequired, an operator can confirm a recharge only after a proof was uploaded.',
    ),
})

const ofBank = { channelType: 'BANK', minAmount: '10.00', maxAmount: '100000.00', dailyMax: '250000.00' }
const bank = { ...ofBank, fixedFee: '0.00', feeRate: '0', proofRequired: true, enabled: true }
const ofCard = { channelType: 'CARD', minAmount: '5.00', maxAmount: '5000.00', dailyMax: '20000.00' }
const card = { ...ofCard, fixedFee: '0.30', feeRate: '0.029', proofRequired: false, enabled: true }

export const rechargeDefaults = {
  lifeMs: days(1),
  referenceRequired: true,
  channels: [
    { channelCode: 'BANK_USD', channelName: 'Bank transfer (USD)', currency: 'USD', ...bank },
    { channelCode: 'BANK_EUR', channelName: 'Bank transfer (EUR)', currency: 'EUR', ...bank },
    { channelCode: 'CARD_USD', channelName: 'Card (USD)', currency: 'USD', ...card },
    { channelCode: 'CARD_EUR', channelName: 'Card (EUR)', currency: 'EUR', ...card },
  ],
}

export interface Channel {
  settings: ChannelSettings
  tariff: Tariff
}

/** Channels by code. */
export type Channels = ReadonlyMap<string, Channel>

export function checkRechargeSettings(
  { channels }: z.output<typeof rechargeSettings>,
  { currencies }: SettingsContext,
): string[] {
  return currencyErrors(currencies, { 'recharge.channels': channels.map(({ currency }) => currency) })
}

/** Throws a RangeError for an invalid amount, so that an invalid setting prevents startup. */
export function parseChannels(settings: readonly ChannelSettings[]): Channels {
  return new Map(settings.map((each) => [each.channelCode, { settings: each, tariff: parseTariff(each) }]))
}

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

/** The payment that an operator confirms. */
export interface Receipt {
  charge: Charge
  /** Whether the announced amount arrived. */
  isAsAnnounced: boolean
}

/**
 * Throws CHANNEL.NOT_AVAILABLE, WALLET.LIMIT_EXCEEDED or WALLET.NOT_ACTIVE. Throws VALIDATION.INVALID_PARAMETER if the
 * channel and the wallet have different currencies.
 */
export function computeTerms(
  { channelCode, amount }: RechargeInput,
  wallet: Pick<Wallet, 'bizId' | 'currency' | 'status'>,
  channels: Channels,
): RechargeTerms {
  const channel = channels.get(channelCode)
  if (!channel?.settings.enabled)
    throw new Refusal('CHANNEL.NOT_AVAILABLE', { internal: 'unknown or disabled channel' })
  if (channel.settings.currency !== wallet.currency)
    throw invalid('channelCode', `the channel's currency is not ${wallet.currency}`)
  const charge = computeCharge(channel.tariff, amount)
  if (wallet.status !== 'ACTIVE') throw new Refusal('WALLET.NOT_ACTIVE', { internal: `the wallet is ${wallet.status}` })
  return { ...charge, wallet: wallet.bizId, channel }
}

/**
 * Returns the charge of the amount that arrived, or the announced one if it is the same. The channel's minimum does not
 * apply. Its maximum does, because it bounds what one operator can credit. Throws CHANNEL.NOT_AVAILABLE if the channel is no
 * longer configured, and VALIDATION.INVALID_PARAMETER for an amount above the maximum or within its fee.
 */
export function computeReceipt(announced: Charge, channel: Channel | undefined, received: string | undefined): Receipt {
  const { currency } = announced.amount
  const amount = received === undefined ? announced.amount : moneyOf(received, currency, 'receivedAmount')
  if (compare(amount, announced.amount) === 0) return { charge: announced, isAsAnnounced: true }
  if (channel?.settings.currency !== currency)
    throw new Refusal('CHANNEL.NOT_AVAILABLE', { internal: 'no tariff for the received amount' })
  if (isAbove(amount, announced) && compare(amount, channel.tariff.maximum) > 0)
    throw invalid('receivedAmount', 'above the maximum of the channel', 'too_big')
  const charge = chargeOf(channel.tariff, amount)
  if (charge.net.minor <= 0n) throw invalid('receivedAmount', 'the fee exceeds the amount', 'too_small')
  return { charge, isAsAnnounced: false }
}

export function isAbove(amount: Money, announced: Pick<Charge, 'amount'>): boolean {
  return compare(amount, announced.amount) > 0
}
