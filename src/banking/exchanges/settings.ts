import type { Logger } from 'pino'
import { z } from 'zod'
import type { SettingsContext } from '../../api/domain.ts'
import {
  areDistinct,
  currencyErrors,
  decimalByCurrency,
  knownCurrency,
  lifetimeMs,
  secretUrl,
  share,
  timeoutMs,
} from '../../config/values.ts'
import { type Clock, days, isRate, type Money, parseMoney, parseRatio, type Ratio } from '../../kernel/index.ts'
import { fixedRates, openRateProvider, type Rates } from '../../platform/exchange-rates.ts'
import type { ExchangeTerms, OperatorRateTerms } from './rules.ts'

const rate = z
  .strictObject({
    source: knownCurrency.describe('Currency that is sold.'),
    target: knownCurrency.describe('Currency that is bought.'),
    rate: z
      .string()
      .refine(isRate, 'a decimal string above zero with at most twelve digits before and after the point')
      .describe('Units of the target currency per unit of the source currency.'),
  })
  .refine(({ source, target }) => source !== target, 'two different currencies')

export const exchangeSettings = z.strictObject({
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
      (rates) => areDistinct(rates.map(({ source, target }) => [source, target].sort().join('/'))),
      'each currency pair once, in one direction',
    )
    .describe('Fixed exchange rates. List each currency pair once: the opposite direction uses the inverse rate.'),
  provider: z
    .strictObject({
      url: secretUrl.describe('URL of the exchange rate service. It may contain a key and is masked in all output.'),
      acceptPlain: z
        .boolean()
        .optional()
        .describe(
          'Whether production can fetch exchange rates over `http`. Without it, production requires `https`, except on a loopback address.',
        ),
      refreshMs: timeoutMs(1_000).describe(
        'Interval in milliseconds at which exchange rates are fetched from the service.',
      ),
      staleAfterMs: lifetimeMs(1_000).describe(
        'Maximum age of an exchange rate in milliseconds. Older rates are not used, and quotes that need them are refused.',
      ),
    })
    .optional()
    .describe('HTTP service that provides exchange rates instead of `rates`.'),
  liquidity: decimalByCurrency.describe(
    'Total amount that the house provides for exchanges, by currency. If you raise an amount, the next start adds the difference. If you lower an amount, nothing is removed. Use 0 for a currency that `currencies` does not list.',
  ),
})

type ExchangeSettings = z.output<typeof exchangeSettings>

export const exchangeDefaults = {
  // In both directions.
  spread: '0.005',
  feeRate: '0.001',
  quoteLifeMs: 30_000,
  operatorRateTtlMs: days(1),
  band: '0.05',
  rates: [],
  liquidity: {},
}

/** Samples, which production refuses, and the actual rate of BHD, whose peg is the same everywhere. */
const sampleRates = [
  { source: 'USD', target: 'EUR', rate: '0.9215' },
  { source: 'USD', target: 'JPY', rate: '148.35' },
  { source: 'USD', target: 'BHD', rate: '0.376' },
  { source: 'BTC', target: 'USD', rate: '64250.5' },
  { source: 'ETH', target: 'USD', rate: '2480.75' },
  { source: 'EUR', target: 'JPY', rate: '160.98' },
]

export const developmentExchange = {
  liquidity: { USD: '1000000.00', EUR: '1000000.00', JPY: '100000000', BHD: '500000.000', BTC: '100', ETH: '1000' },
  rates: sampleRates,
}

export function checkExchangeSettings(
  { rates, provider, liquidity }: ExchangeSettings,
  { profile, currencies }: SettingsContext,
): string[] {
  return [
    ...currencyErrors(currencies, {
      'exchange.rates': rates.flatMap(({ source, target }) => [source, target]),
      // Only zero can override an amount of the profile, so it is allowed for any currency.
      'exchange.liquidity': Object.entries(liquidity).flatMap(([code, text]) =>
        parseMoney(text, code)?.minor === 0n ? [] : [code],
      ),
    }),
    // Otherwise, rates would be stale before each refresh.
    ...(provider && provider.staleAfterMs <= provider.refreshMs
      ? ['money.exchange.provider.staleAfterMs: must be greater than money.exchange.provider.refreshMs']
      : []),
    ...(profile === 'production' ? rates.filter(isSample) : []).map(
      ({ source, target, rate }) =>
        `money.exchange.rates: ${source}/${target} ${rate} is the sample rate of the development profile`,
    ),
  ]
}

/** Throws a RangeError if `spread` or `feeRate` is invalid. */
export function exchangeTerms({ spread, feeRate, quoteLifeMs }: ExchangeSettings): ExchangeTerms {
  return {
    spread: parseShare(spread),
    feeRate: parseShare(feeRate),
    quoteLifeMs,
  }
}

/** Throws a RangeError if the band is invalid. */
export function operatorRateTerms({ operatorRateTtlMs, band }: ExchangeSettings): OperatorRateTerms {
  return {
    ttlMs: operatorRateTtlMs,
    band: band === 'off' ? null : parseShare(band),
  }
}

export function liquidityOf({ liquidity }: ExchangeSettings): Money[] {
  return Object.entries(liquidity).flatMap(([currency, text]) => parseMoney(text, currency) ?? [])
}

const WithRates = exchangeSettings
  .pick({ rates: true })
  .extend({ provider: z.object({}).optional() })
  .loose()

export type ConfiguredRates = Pick<z.output<typeof WithRates>, 'rates' | 'provider'>

/** Returns no rates for undefined. */
export function configuredRates(settings: unknown): ConfiguredRates {
  return settings === undefined ? { rates: [] } : WithRates.parse(settings)
}

export async function openRates(settings: ExchangeSettings, clock: Clock, logger: Logger): Promise<Rates> {
  const { provider, rates } = settings
  if (!provider) return fixedRates(rates, clock)
  return openRateProvider({ ...provider, url: provider.url.reveal() }, clock, logger)
}

function isSample({ source, target, rate }: ExchangeSettings['rates'][number]): boolean {
  return sampleRates.some(
    (sample) =>
      sample.source === source && sample.target === target && target !== 'BHD' && Number(sample.rate) === Number(rate),
  )
}

function parseShare(text: string): Ratio {
  const parsed = parseRatio(text)
  if (!parsed) throw new RangeError(`${text} is not a valid share`)
  return parsed
}
