import type { Logger } from 'pino'
import type { Configuration } from '../config/index.ts'
import type { ExchangeTerms } from '../domains/exchanges/index.ts'
import { type Clock, type Money, parseMoney, parseRatio, type Ratio } from '../kernel/index.ts'
import { fixedRates, openRateProvider, type Rates } from '../platform/exchange-rates.ts'

type ExchangeSettings = Configuration['money']['exchange']

const share = (text: string): Ratio => {
  const parsed = parseRatio(text)
  if (!parsed) throw new RangeError(`${text} is no share`)
  return parsed
}

export const exchangeTerms = ({ spread, feeRate, quoteLifeMs }: ExchangeSettings): ExchangeTerms => ({
  spread: share(spread),
  feeRate: share(feeRate),
  quoteLifeMs,
})

/** What the house has put in, as the book takes it. */
export const liquidityOf = ({ liquidity }: ExchangeSettings): Money[] =>
  Object.entries(liquidity).flatMap(([currency, text]) => parseMoney(text, currency) ?? [])

/** The HTTP provider where one is named, else the configuration's table. */
export const openRates = async (settings: ExchangeSettings, clock: Clock, logger: Logger): Promise<Rates> => {
  const { provider, rates } = settings
  if (!provider) return fixedRates(rates, clock)
  const onFault = (error: unknown): void => logger.warn({ err: error }, 'no rates from the provider')
  return openRateProvider({ ...provider, url: provider.url.reveal() }, clock, onFault)
}
