import { z } from 'zod'
import { isCurrency, isRate, multiplyRoundingUp, parseMoney, parseRatio } from '../kernel/index.ts'
import { lifetimeMs, secretUrl, timeoutMs } from './values.ts'

const currency = z.string().refine(isCurrency, 'a known currency')

const decimalByCurrency = z
  .record(currency, z.string())
  .refine((table) => Object.entries(table).every(([code, text]) => parseMoney(text, code) !== undefined), {
    message: 'decimal strings with no more places than their currencies have',
  })

/** A rate as a decimal string, such as 0.005 for 0.5 %. */
const share = z
  .string()
  .regex(/^0(\.\d{1,6})?$/, 'a decimal string from 0 to below 1 with at most six decimal places')
  .meta({ examples: ['0.005'] })

/** Limits and fees of a payment method, as decimal strings in its currency. */
const tariff = {
  currency: currency.describe('Currency of the amounts in this entry.'),
  minAmount: z.string().describe('Minimum amount of an order.'),
  maxAmount: z.string().describe('Maximum amount of an order.'),
  dailyMax: z
    .string()
    .optional()
    .describe('Maximum total of orders per workspace and UTC day. Without a value, there is no limit.'),
  fixedFee: z.string().describe('Fixed fee per order.'),
  feeRate: share.describe('Fee as a share of the amount. It is added to `fixedFee`.'),
}
const tariffTerms = z.object(tariff)
/** The limits and fees of one payment method: decimal strings in `currency`. The rate is a share below one. */
export type TariffSettings = z.output<typeof tariffTerms>

/**
 * Returns the fees of an order of the minimum amount, as the ledger charges them. Of larger orders, a larger part
 * remains after fees.
 */
const minimumFee = (fixed: bigint, rate: string, minimum: bigint): bigint => {
  const share = parseRatio(rate)
  return share ? fixed + multiplyRoundingUp(minimum, share) : fixed
}

const areConsistent = (settings: unknown): boolean => {
  const read = tariffTerms.safeParse(settings)
  // The schema of each field reports its own errors.
  if (!read.success || !isCurrency(read.data.currency)) return true
  const { currency: code, ...texts } = read.data
  const minor = (text: string): bigint => parseMoney(text, code)?.minor ?? -1n
  const [min, max, fixed] = [minor(texts.minAmount), minor(texts.maxAmount), minor(texts.fixedFee)]
  const daily = texts.dailyMax === undefined ? max : minor(texts.dailyMax)
  return fixed >= 0n && min > minimumFee(fixed, texts.feeRate, min) && max >= min && daily >= min
}
const consistency = {
  message: 'amounts that fit the currency, with fees of minAmount < minAmount <= maxAmount and minAmount <= dailyMax',
}

const rechargeChannel = z
  .strictObject({
    channelCode: z.string().min(1).max(64).describe('Code of the channel in orders. Do not change it.'),
    channelName: z.string().min(1).describe('Name that users see.'),
    channelType: z.enum(['BANK', 'CRYPTO', 'CARD']).describe('Type of the payment.'),
    proofRequired: z
      .boolean()
      .describe('Whether an operator can confirm an order only after a proof of payment was submitted.'),
    enabled: z.boolean().describe('Whether users can choose this channel for new orders.'),
    ...tariff,
  })
  .refine(areConsistent, consistency)

const payout = z
  .strictObject({ channelType: z.enum(['BANK', 'CRYPTO']).describe('Type of the payout account.'), ...tariff })
  .refine(areConsistent, consistency)

const distinct = (keys: string[]): boolean => new Set(keys).size === keys.length

const rate = z
  .strictObject({
    source: currency.describe('Source currency.'),
    target: currency.describe('Target currency.'),
    rate: z
      .string()
      .refine(isRate, 'a decimal string above zero with at most twelve digits before and after the point')
      .describe('Units of the target currency per unit of the source currency.'),
  })
  .refine(({ source, target }) => source !== target, 'two different currencies')

const exchange = z.strictObject({
  spread: share.describe('Share of the rate that the house keeps. It applies in both directions.'),
  feeRate: share.describe('Exchange fee as a share of the source amount. It is charged in addition to the amount.'),
  quoteLifeMs: lifetimeMs(1_000).describe('Lifetime of a quote in milliseconds.'),
  rates: z
    .array(rate)
    .refine(
      (rates) => distinct(rates.map(({ source, target }) => [source, target].sort().join('/'))),
      'each currency pair once, in one direction',
    )
    .describe('Table of rates. List each pair once: the other direction uses the inverse rate.'),
  provider: z
    .strictObject({
      url: secretUrl.describe('URL of the rate service. It can contain a key and is masked in all output.'),
      refreshMs: timeoutMs(1_000).describe('Interval in milliseconds at which rates are fetched.'),
      staleAfterMs: lifetimeMs(1_000).describe('Age in milliseconds at which a rate becomes too old for quotes.'),
      timeoutMs: timeoutMs(10).describe('Time limit in milliseconds for the rate service.'),
    })
    .optional()
    .describe('HTTP service that provides rates instead of the table.'),
  liquidity: decimalByCurrency.describe(
    'Total amount that the house has provided for exchanges, by currency. If you raise an amount, the next start adds the difference. If you lower it, nothing is removed. Use 0 for a currency that is not listed.',
  ),
})

const settings = z.strictObject({
  currencies: z
    .array(currency)
    .min(1)
    .refine(distinct, 'each currency once')
    .describe(
      'Currencies of this deployment. A new workspace gets a wallet in each currency. If you add a currency, existing workspaces get no wallet in it. Empty the wallets of a currency before you remove it, because nothing can be paid out of them afterwards.',
    ),
  transferFee: decimalByCurrency.describe(
    'Fee that the sender of a transfer pays in addition to the amount, by currency.',
  ),
  transferApprovalFrom: decimalByCurrency.describe(
    'Amount from which a transfer requires the approval of an operator, by currency.',
  ),
  recharge: z.strictObject({
    lifeMs: lifetimeMs(1_000).describe(
      'Time limit in milliseconds for paying a recharge or submitting its proof. After it, the recharge expires.',
    ),
    channels: z
      .array(rechargeChannel)
      .refine((channels) => distinct(channels.map(({ channelCode }) => channelCode)), 'each channel code once'),
  }),
  withdrawal: z.strictObject({
    maxChannelsPerWorkspace: z
      .int()
      .min(1)
      .describe('Maximum number of payout accounts per workspace, including those that wait for verification.'),
    payouts: z
      .array(payout)
      .refine(
        (payouts) => distinct(payouts.map(({ channelType, currency: code }) => `${channelType} ${code}`)),
        'each channel type and currency once',
      )
      .describe(
        'Payout limits and fees by channel type and currency. Combinations that are not listed cannot be paid out.',
      ),
  }),
  exchange,
  background: z.strictObject({
    ledgerCheckMs: lifetimeMs(1_000).describe(
      'Interval of the ledger check in milliseconds. One replica runs the check for all.',
    ),
    expiryMs: lifetimeMs(1_000).describe(
      'Interval in milliseconds at which expired orders, quotes and idempotency records are processed.',
    ),
  }),
})

type Settings = z.output<typeof settings>

/** Returns the currencies that each section of the settings uses. */
const currenciesIn = ({ transferFee, transferApprovalFrom, recharge, withdrawal, exchange }: Settings) => ({
  transferFee: Object.keys(transferFee),
  transferApprovalFrom: Object.keys(transferApprovalFrom),
  'recharge.channels': recharge.channels.map((each) => each.currency),
  'withdrawal.payouts': withdrawal.payouts.map((each) => each.currency),
  'exchange.rates': exchange.rates.flatMap(({ source, target }) => [source, target]),
  // A zero amount must be allowed, because only it can override the amount of a profile.
  'exchange.liquidity': Object.entries(exchange.liquidity).flatMap(([code, text]) =>
    parseMoney(text, code)?.minor === 0n ? [] : [code],
  ),
})

export const moneySettings = settings.superRefine((money, context) => {
  for (const [part, used] of Object.entries(currenciesIn(money))) {
    const unlisted = new Set(used).difference(new Set(money.currencies))
    if (unlisted.size > 0)
      context.addIssue({
        code: 'custom',
        path: ['currencies'],
        message: `${part} uses currencies that are not listed: ${[...unlisted].join(', ')}`,
      })
  }
})
