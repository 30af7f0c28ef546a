import { z } from 'zod'
import type { SettingsContext } from '../../api/domain.ts'
import { areDistinct, currencyErrors } from '../../config/values.ts'
import { type AccountId, invalid, Refusal, type WalletId } from '../../kernel/index.ts'
import {
  type Charge,
  computeCharge,
  parseTariff,
  type Tariff,
  tariffSettings,
  type Wallet,
} from '../../ledger/index.ts'

export type PayoutType = PayoutSettings['channelType']

const payout = tariffSettings({
  channelType: z.enum(['BANK', 'CRYPTO']).describe('Type of the payout accounts to which this entry applies.'),
})
export type PayoutSettings = z.output<typeof payout>

export const withdrawalSettings = z.strictObject({
  payouts: z
    .array(payout)
    .refine(
      (payouts) => areDistinct(payouts.map(({ channelType, currency: code }) => `${channelType} ${code}`)),
      'each channel type and currency once',
    )
    .describe(
      'Limits and fees of withdrawals, by channel type and currency. Withdrawals with a combination that is not listed are not possible.',
    ),
})

const bank = { channelType: 'BANK', feeRate: '0' }
const crypto = { channelType: 'CRYPTO', feeRate: '0' }
const ofBank = { ...bank, minAmount: '10.00', maxAmount: '50000.00', dailyMax: '100000.00', fixedFee: '1.00' }

export const defaultPayouts = [
  { ...ofBank, currency: 'USD' },
  { ...ofBank, currency: 'EUR' },
  { ...bank, currency: 'JPY', minAmount: '1000', maxAmount: '5000000', dailyMax: '10000000', fixedFee: '100' },
  { ...crypto, currency: 'BTC', minAmount: '0.001', maxAmount: '2', dailyMax: '5', fixedFee: '0.0001' },
  { ...crypto, currency: 'ETH', minAmount: '0.01', maxAmount: '50', dailyMax: '100', fixedFee: '0.001' },
]

export function checkWithdrawalSettings(
  { payouts }: z.output<typeof withdrawalSettings>,
  { currencies }: SettingsContext,
): string[] {
  return currencyErrors(currencies, { 'withdrawal.payouts': payouts.map(({ currency }) => currency) })
}

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
export function computeTerms(
  { channel, amount, remark }: WithdrawalInput,
  wallet: Pick<Wallet, 'bizId' | 'currency'>,
  { channelType, channelStatus, currency, accountDigest }: PayoutChannel,
  payouts: PayoutTariffs,
): WithdrawalTerms {
  if (currency !== wallet.currency)
    throw invalid('withdrawalChannelBizId', `the channel's currency is not ${wallet.currency}`)
  const tariff = payouts.find(channelType, currency)
  if (channelStatus !== 'ACTIVE' || !tariff)
    throw new Refusal('CHANNEL.NOT_AVAILABLE', { internal: `${channelStatus} channel in ${currency}` })
  return { ...computeCharge(tariff, amount), wallet: wallet.bizId, channel, channelType, accountDigest, tariff, remark }
}

function keyOf(channelType: PayoutType, currency: string): string {
  return `${channelType} ${currency}`
}
