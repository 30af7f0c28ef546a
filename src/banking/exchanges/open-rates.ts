import type { Logger } from 'pino'
import type { Configuration } from '../../api/domain.ts'
import { type Clock, type Money, parseMoney, parseRatio, type Ratio } from '../../kernel/index.ts'
import { fixedRates, openRateProvider, type Rates } from '../../platform/exchange-rates.ts'
import type { ExchangeTerms, OperatorRateTerms } from './rules.ts'

type ExchangeSettings = Configuration['money']['exchange']

const share = (text: string): Ratio => {
  const parsed = parseRatio(text)
  if (!parsed) throw new RangeError(`${text} is not a valid share`)
  return parsed
}

/** Throws a RangeError if `spread` or `feeRate` is invalid. */
export const exchangeTerms = ({ spread, feeRate, quoteLifeMs }: ExchangeSettings): ExchangeTerms => ({
  spread: share(spread),
  feeRate: share(feeRate),
  quoteLifeMs,
})

/** Throws a RangeError if the band is invalid. */
export const operatorRateTerms = ({ operatorRateTtlMs, band }: ExchangeSettings): OperatorRateTerms => ({
  ttlMs: operatorRateTtlMs,
  band: band === 'off' ? null : share(band),
})

export const liquidityOf = ({ liquidity }: ExchangeSettings): Money[] =>
  Object.entries(liquidity).flatMap(([currency, text]) => parseMoney(text, currency) ?? [])

export const openRates = async (settings: ExchangeSettings, clock: Clock, logger: Logger): Promise<Rates> => {
  const { provider, rates } = settings
  if (!provider) return fixedRates(rates, clock)
  const onFault = (error: unknown): void => logger.warn({ err: error }, 'exchange rates could not be fetched')
  return openRateProvider({ ...provider, url: provider.url.reveal() }, clock, onFault)
}
