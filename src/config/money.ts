import { z } from 'zod'
import { isCurrency, isRate, multiplyRoundingUp, parseMoney, parseRatio } from '../kernel/index.ts'
import { life, wait } from './durations.ts'
import { secretUrl } from './http-url.ts'

const currency = z.string().refine(isCurrency, 'a known currency')

const decimalByCurrency = z
  .record(currency, z.string())
  .refine((table) => Object.entries(table).every(([code, text]) => parseMoney(text, code) !== undefined), {
    message: 'decimal strings that fit their currencies',
  })

/** A share as a decimal string, such as 0.005 for half a per cent. */
const share = z
  .string()
  .regex(/^0(\.\d{1,6})?$/, 'a decimal string from 0 to below 1, with six places at most')
  .meta({ examples: ['0.005'] })

/** What every way in or out has: decimal strings of its currency. */
const tariff = {
  currency: currency.describe('What the amounts of this entry are in.'),
  minAmount: z.string().describe('The least of one order.'),
  maxAmount: z.string().describe('The most of one order.'),
  dailyMax: z.string().optional().describe('The most of a workspace per day (UTC); unbounded where nothing is said.'),
  fixedFee: z.string().describe('What each order costs.'),
  feeRate: share.describe('What it costs beside, as a share of its amount.'),
}
const tariffTerms = z.object(tariff)

/** What the least order costs, as `chargeOf` of the ledger reckons it; of a larger one more is left. */
const leastFee = (fixed: bigint, rate: string, least: bigint): bigint => {
  const share = parseRatio(rate)
  return share ? fixed + multiplyRoundingUp(least, share) : fixed
}

const holdsTogether = (given: unknown): boolean => {
  const read = tariffTerms.safeParse(given)
  // What is wrong with a part is said by the part.
  if (!read.success || !isCurrency(read.data.currency)) return true
  const { currency: code, ...texts } = read.data
  const minor = (text: string): bigint => parseMoney(text, code)?.minor ?? -1n
  const [least, most, fixed] = [minor(texts.minAmount), minor(texts.maxAmount), minor(texts.fixedFee)]
  const daily = texts.dailyMax === undefined ? most : minor(texts.dailyMax)
  return fixed >= 0n && least > leastFee(fixed, texts.feeRate, least) && most >= least && daily >= least
}
const together = {
  message: 'amounts that fit the currency: the fees of minAmount < minAmount <= maxAmount, minAmount <= dailyMax',
}

const rechargeChannel = z
  .strictObject({
    channelCode: z.string().min(1).max(64).describe('What orders name it by; it stays for good.'),
    channelName: z.string().min(1).describe('What people read.'),
    channelType: z.enum(['BANK', 'CRYPTO', 'CARD']).describe('How the money comes.'),
    proofRequired: z.boolean().describe('Whether an operator may confirm only what a proof was shown for.'),
    enabled: z.boolean().describe('Whether new orders may take it.'),
    ...tariff,
  })
  .refine(holdsTogether, together)

const payout = z
  .strictObject({ channelType: z.enum(['BANK', 'CRYPTO']).describe('How the money leaves.'), ...tariff })
  .refine(holdsTogether, together)

const distinct = (keys: string[]): boolean => new Set(keys).size === keys.length

const rate = z
  .strictObject({
    source: currency.describe('What is given.'),
    target: currency.describe('What is got.'),
    rate: z
      .string()
      .refine(isRate, 'a decimal string above zero, of twelve places on either side of the point at most')
      .describe('Units of target for one of source.'),
  })
  .refine(({ source, target }) => source !== target, 'two currencies')

const exchange = z.strictObject({
  spread: share.describe('What the house keeps of the rate, both ways.'),
  feeRate: share.describe('What an exchange costs beside, of the source amount and on top of it.'),
  quoteLifeMs: life(1_000).describe('How long a quote can be taken.'),
  rates: z
    .array(rate)
    .refine(
      (rates) => distinct(rates.map(({ source, target }) => [source, target].sort().join('/'))),
      'each pair once, in one direction',
    )
    .describe('A pair stands once; the other way is its inverse.'),
  provider: z
    .strictObject({
      url: secretUrl.describe(
        'Who is asked; masked wherever the configuration is printed, for the key that may be in it.',
      ),
      refreshMs: wait(1_000).describe('How often.'),
      staleAfterMs: life(1_000).describe('The age from which a rate is not quoted.'),
      timeoutMs: wait(10).describe('For an answer.'),
    })
    .optional()
    .describe('Where rates come from instead of the table; what is older than `staleAfterMs` is not quoted.'),
  liquidity: decimalByCurrency.describe(
    'What the house has put in to exchange with, in all; raising it puts in the difference at the next start, for good: lowering it takes nothing out. Of a currency that is not kept it is 0.',
  ),
})

const settings = z.strictObject({
  currencies: z
    .array(currency)
    .min(1)
    .refine(distinct, 'each currency once')
    .describe(
      'The currencies that this deployment keeps: a new workspace gets a wallet in each of these. One that is added later brings workspaces that are there no wallet; of one that is taken out nothing is paid any more, so that its wallets are to be emptied before.',
    ),
  transferFee: decimalByCurrency.describe('What a transfer costs its sender, on top of the amount, by currency.'),
  transferApprovalFrom: decimalByCurrency.describe('From this amount on a transfer waits for an operator.'),
  recharge: z.strictObject({
    lifeMs: life(1_000).describe('How long a recharge waits for its payment or proof.'),
    channels: z
      .array(rechargeChannel)
      .refine((channels) => distinct(channels.map(({ channelCode }) => channelCode)), 'each code once'),
  }),
  withdrawal: z.strictObject({
    maxChannelsPerWorkspace: z
      .int()
      .min(1)
      .describe('Accounts that a workspace may pay out to, those that wait for verification among them.'),
    payouts: z
      .array(payout)
      .refine(
        (payouts) => distinct(payouts.map(({ channelType, currency: code }) => `${channelType} ${code}`)),
        'each type and currency once',
      )
      .describe('By type of channel and currency; what is not listed cannot be paid out.'),
  }),
  exchange,
  background: z.strictObject({
    ledgerCheckMs: life(1_000).describe('How often the book is checked, by one replica for all.'),
    expiryMs: life(1_000).describe('How often what has run out is ended.'),
  }),
})

type Settings = z.output<typeof settings>

/** The currencies that each part of the settings speaks of. */
const spokenOf = ({ transferFee, transferApprovalFrom, recharge, withdrawal, exchange }: Settings) => ({
  transferFee: Object.keys(transferFee),
  transferApprovalFrom: Object.keys(transferApprovalFrom),
  'recharge.channels': recharge.channels.map((each) => each.currency),
  'withdrawal.payouts': withdrawal.payouts.map((each) => each.currency),
  'exchange.rates': exchange.rates.flatMap(({ source, target }) => [source, target]),
  // What a profile's file puts in can be taken back by nothing else.
  'exchange.liquidity': Object.entries(exchange.liquidity).flatMap(([code, text]) =>
    parseMoney(text, code)?.minor === 0n ? [] : [code],
  ),
})

export const moneySettings = settings.superRefine((given, context) => {
  for (const [part, spoken] of Object.entries(spokenOf(given))) {
    const unlisted = new Set(spoken).difference(new Set(given.currencies))
    if (unlisted.size > 0)
      context.addIssue({
        code: 'custom',
        path: ['currencies'],
        message: `${part} speaks of what is not listed: ${[...unlisted].join(', ')}`,
      })
  }
})
