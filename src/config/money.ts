import { z } from 'zod'
import { days, isCurrency, isRate, multiplyRoundingUp, parseMoney, parseRatio } from '../kernel/index.ts'
import { lifetimeMs, secretUrl, timeoutMs } from './values.ts'

const currency = z.string().refine(isCurrency, 'a known currency')

const decimalByCurrency = z
  .record(currency, z.string())
  .refine((table) => Object.entries(table).every(([code, text]) => parseMoney(text, code) !== undefined), {
    message: 'decimal strings with no more places than their currencies have',
  })

const share = z
  .string()
  .regex(/^0(\.\d{1,6})?$/, 'a decimal string from 0 to below 1 with at most six decimal places')
  .meta({ examples: ['0.005'] })

const tariff = {
  currency: currency.describe('Currency of the limits and fees in this entry.'),
  minAmount: z.string().describe('Minimum amount of an order. Smaller orders get 422.'),
  maxAmount: z.string().describe('Maximum amount of an order. Larger orders get 422.'),
  dailyMax: z
    .string()
    .optional()
    .describe(
      'Maximum total amount of orders within 24 hours: per workspace, per person across all workspaces, and per external account that receives money. Further orders get 422. Without a value, there is no limit.',
    ),
  fixedFee: z.string().describe('Fixed fee per order, in addition to the fee from `feeRate`.'),
  feeRate: share.describe('Fee per order as a share of the amount, in addition to `fixedFee`.'),
}
const tariffTerms = z.object(tariff)
/** Amounts are decimal strings in `currency`. */
export type TariffSettings = z.output<typeof tariffTerms>

/** Fees are the largest share of an order at the minimum amount. */
const minimumFee = (fixed: bigint, rate: string, minimum: bigint): bigint => {
  const share = parseRatio(rate)
  return share ? fixed + multiplyRoundingUp(minimum, share) : fixed
}

const areConsistent = (settings: unknown): boolean => {
  const read = tariffTerms.safeParse(settings)
  // If a field is invalid, its own schema reports the error.
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
    ...tariff,
  })
  .refine(areConsistent, consistency)

const payout = z
  .strictObject({
    channelType: z.enum(['BANK', 'CRYPTO']).describe('Type of the payout accounts to which this entry applies.'),
    ...tariff,
  })
  .refine(areConsistent, consistency)

const distinct = (keys: string[]): boolean => new Set(keys).size === keys.length

const rate = z
  .strictObject({
    source: currency.describe('Currency that is sold.'),
    target: currency.describe('Currency that is bought.'),
    rate: z
      .string()
      .refine(isRate, 'a decimal string above zero with at most twelve digits before and after the point')
      .describe('Units of the target currency per unit of the source currency.'),
  })
  .refine(({ source, target }) => source !== target, 'two different currencies')

const exchange = z.strictObject({
  spread: share.describe('Share of the exchange rate that the house keeps, in both directions of a currency pair.'),
  feeRate: share.describe(
    'Fee of an exchange as a share of the source amount. It is charged in addition to the source amount.',
  ),
  quoteLifeMs: lifetimeMs(1_000).describe(
    'Lifetime of an exchange quote in milliseconds. An expired quote cannot be accepted.',
  ),
  // A shorter life would end a move within the day in which a second one needs a second operator.
  operatorRateTtlMs: lifetimeMs(days(1)).describe(
    'Lifetime in milliseconds of a rate that an operator sets or proposes. When it expires, the pair uses `rates` or `provider` again. An operator can end the rate earlier. The minimum is 24 hours, because the return is a further move of the pair. The maximum is 100 years, which in effect means no expiry.',
  ),
  // Null is not an option: in a file, it means the default and could not switch the band off.
  band: z
    .union([share, z.literal('off')])
    .describe(
      'Maximum deviation of an operator rate from the rate in `rates` or `provider`, as a share of that rate. Conversions over several pairs have the same limit. A second operator must confirm a rate outside this band, any rate for a pair that has neither, and a further change within 24 hours. With `off`, a second operator must confirm only rates with which customers would gain in a cycle.',
    ),
  rates: z
    .array(rate)
    .refine(
      (rates) => distinct(rates.map(({ source, target }) => [source, target].sort().join('/'))),
      'each currency pair once, in one direction',
    )
    .describe('Fixed exchange rates. List each currency pair once: the opposite direction uses the inverse rate.'),
  provider: z
    .strictObject({
      url: secretUrl.describe('URL of the exchange rate service. It may contain a key and is masked in all output.'),
      refreshMs: timeoutMs(1_000).describe(
        'Interval in milliseconds at which exchange rates are fetched from the service.',
      ),
      staleAfterMs: lifetimeMs(1_000).describe(
        'Maximum age of an exchange rate in milliseconds. Older rates are not used, and quotes that need them are refused.',
      ),
      timeoutMs: timeoutMs(10).describe(
        'Time limit in milliseconds for a response from the exchange rate service. When it expires, the last rates remain in use until they are stale.',
      ),
    })
    .optional()
    .describe('HTTP service that provides exchange rates instead of `rates`.'),
  liquidity: decimalByCurrency.describe(
    'Total amount that the house provides for exchanges, by currency. If you raise an amount, the next start adds the difference. If you lower an amount, nothing is removed. Use 0 for a currency that `currencies` does not list.',
  ),
})

/** Each change of a rate compares the conversions between all currencies. */
const maxCurrencies = 64

const settings = z.strictObject({
  currencies: z
    .array(currency)
    .min(1)
    .max(maxCurrencies)
    .refine(distinct, 'each currency once')
    .describe(
      'Currencies of this deployment, at most 64. A new workspace gets a wallet in each currency. If you add a currency, existing workspaces do not get a wallet automatically: their members open it, or you run `portico wallet open`. Before you remove a currency, empty its wallets, because their money cannot be paid out afterwards.',
    ),
  transferFee: decimalByCurrency.describe(
    'Fixed fee that the sender of a transfer pays in addition to the amount, by currency.',
  ),
  transferApprovalFrom: decimalByCurrency.describe(
    'Amount from which transfers require approval by an operator, by currency. It applies to the total of a person’s transfers within 24 hours that had no approval.',
  ),
  separationOfDuties: z
    .strictObject({
      enabled: z
        .boolean()
        .describe(
          'Whether consecutive decisions on an order require different operators, and whether the operator who verified a payout account cannot approve payouts to it. Violations get 403. Nobody decides on their own orders, even with `false`. When a gateway starts, it records a change of `separationOfDuties` in the audit log.',
        ),
      from: decimalByCurrency.describe(
        'Minimum order amount that requires different operators, by currency. Below it, one operator can take consecutive decisions. For a currency without a value, every amount requires different operators.',
      ),
    })
    .describe('Separation of duties between the operators who decide on an order.'),
  stepUpAbove: z
    .strictObject({
      currency: currency.describe(
        'Currency of `amount`. Amounts in other currencies are converted at the highest exchange rate in force: direct, inverse, or over one other currency. An amount without a rate counts as above the sum. With `exchanges: off`, only `exchange.rates` apply. After a change of this setting, amounts of the last 24 hours count as above the sum.',
      ),
      amount: z
        .string()
        .describe(
          'Total value that a person can move out of their workspaces within 24 hours without step-up: transfers to other workspaces, withdrawals and outgoing orders of extensions, in all currencies. Above it, each such order requires step-up. `unlimited` requires none.',
        ),
      apiKeys: z
        .enum(['refuse', 'allow'])
        .describe(
          'How step-up limits apply to API keys, which cannot step up. With `refuse`, a command above the limit of the person who created the key gets 422. With `allow`, these limits do not apply to API keys.',
        ),
    })
    .refine(
      ({ currency: code, amount }) =>
        amount === 'unlimited' || !isCurrency(code) || parseMoney(amount, code) !== undefined,
      {
        path: ['amount'],
        message: 'a decimal string with no more places than its currency has, or `unlimited`',
      },
    ),
  recharge: z.strictObject({
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
      .refine((channels) => distinct(channels.map(({ channelCode }) => channelCode)), 'each channel code once'),
  }),
  withdrawal: z.strictObject({
    maxChannelsPerWorkspace: z
      .int()
      .min(1)
      .describe(
        'Maximum number of payout accounts per workspace, including those that wait for verification. Adding a further account gets 409.',
      ),
    payouts: z
      .array(payout)
      .refine(
        (payouts) => distinct(payouts.map(({ channelType, currency: code }) => `${channelType} ${code}`)),
        'each channel type and currency once',
      )
      .describe(
        'Limits and fees of withdrawals, by channel type and currency. Withdrawals with a combination that is not listed are not possible.',
      ),
  }),
  exchange,
  background: z.strictObject({
    ledgerCheckMs: lifetimeMs(1_000).describe(
      'Interval in milliseconds between ledger checks. A check reads what changed since the last one. One replica runs it for all replicas.',
    ),
    wholeLedgerCheckMs: lifetimeMs(1_000).describe(
      'Interval in milliseconds after which a ledger check reads the whole ledger.',
    ),
  }),
})

type Settings = z.output<typeof settings>

const currenciesIn = ({
  transferFee,
  transferApprovalFrom,
  separationOfDuties,
  recharge,
  withdrawal,
  exchange,
  stepUpAbove,
}: Settings) => ({
  transferFee: Object.keys(transferFee),
  transferApprovalFrom: Object.keys(transferApprovalFrom),
  'separationOfDuties.from': Object.keys(separationOfDuties.from),
  'recharge.channels': recharge.channels.map((each) => each.currency),
  'withdrawal.payouts': withdrawal.payouts.map((each) => each.currency),
  stepUpAbove: stepUpAbove.amount === 'unlimited' ? [] : [stepUpAbove.currency],
  'exchange.rates': exchange.rates.flatMap(({ source, target }) => [source, target]),
  // Only zero can override an amount of the profile, so it is allowed for any currency.
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
