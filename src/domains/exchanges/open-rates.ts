import type { Logger } from 'pino'
import type { Configuration } from '../../config/index.ts'
import { type Clock, type Money, parseMoney, parseRatio, type Ratio } from '../../kernel/index.ts'
import { fixedRates, openRateProvider, type Rates } from '../../platform/exchange-rates.ts'
import type { ExchangeTerms } from './rules.ts'

type ExchangeSettings = Configuration['money']['exchange']

const share = (text: string): Ratio => {
  const parsed = parseRatio(text)
  if (!parsed) throw new RangeError(`${text} is not a valid share`)
  return parsed
}

/** Returns the exchange terms with parsed rates. Throws a RangeError for an invalid share. */
export const exchangeTerms = ({ spread, feeRate, quoteLifeMs }: ExchangeSettings): ExchangeTerms => ({
  spread: share(spread),
  feeRate: share(feeRate),
  quoteLifeMs,
})

/** Returns the amounts that the house provides for exchanges, by currency. */
export const liquidityOf = ({ liquidity }: ExchangeSettings): Money[] =>
  Object.entries(liquidity).flatMap(([currency, text]) => parseMoney(text, currency) ?? [])

/** Opens the rates: those of the configured HTTP provider, or else those of the configuration. */
export const openRates = async (settings: ExchangeSettings, clock: Clock, logger: Logger): Promise<Rates> => {
  const { provider, rates } = settings
  if (!provider) return fixedRates(rates, clock)
  const onFault = (error: unknown): void => logger.warn({ err: error }, 'exchange rates could not be fetched')
  return openRateProvider({ ...provider, url: provider.url.reveal() }, clock, onFault)
}
