import type { Database } from '../../database/index.ts'
import { type AccountId, invert, parseRatio, type Ratio } from '../../kernel/index.ts'
import type { Rate, Rates } from '../../platform/exchange-rates.ts'
import { listSetRates, readSetRate } from './store.ts'

/** The rate in force for a pair of currencies. */
export interface CurrentRate extends Rate {
  /** The operator who set the rate. Null for a rate of the provider. */
  updatedBy: string | null
}

/** The sources of rates. */
export interface RateSources {
  database: Database
  /** Mid rates of a provider or of the configuration. Pairs without a current rate are absent. */
  rates: Pick<Rates, 'list'>
  /** The currencies of the deployment. Stored rates can refer to other currencies. */
  currencies: readonly string[]
}

interface Pair {
  source: string
  target: string
}

/** Returns the side whose currency the deployment does not have, or undefined if it has both. */
export const unsupportedSide = ({ currencies }: RateSources, { source, target }: Pair): keyof Pair | undefined => {
  if (!currencies.includes(source)) return 'source'
  return currencies.includes(target) ? undefined : 'target'
}

const isRateOf = (rate: Pair, a: string, b: string): boolean =>
  (rate.source === a && rate.target === b) || (rate.source === b && rate.target === a)

/** Returns the rate as a ratio for this source currency. */
const toRatio = (rate: { source: string; rate: string }, source: string): Ratio => {
  const parsed = parseRatio(rate.rate)
  if (!parsed || parsed.numerator === 0n) throw new RangeError(`${rate.rate} is not a rate`)
  return rate.source === source ? parsed : invert(parsed)
}

/**
 * Returns the mid rate in units of target per unit of source, and the operator who set it. An operator's rate takes
 * precedence over the provider's. Returns undefined if there is no rate.
 */
export const findRate = async (
  sources: RateSources,
  source: string,
  target: string,
): Promise<{ mid: Ratio; setBy: AccountId | null } | undefined> => {
  if (unsupportedSide(sources, { source, target })) return undefined
  const set = await readSetRate(sources.database, source, target)
  const found = set ?? sources.rates.list().find((rate) => isRateOf(rate, source, target))
  return found && { mid: toRatio(found, source), setBy: set?.updatedBy ?? null }
}

/** Returns the current rates, one per pair. */
export const listRates = async (sources: RateSources): Promise<CurrentRate[]> => {
  const set = await listSetRates(sources.database)
  const others = sources.rates
    .list()
    .filter((rate) => !set.some(({ source, target }) => isRateOf(rate, source, target)))
  const all = [
    ...set.map(({ updatedAt, ...rate }) => ({ ...rate, asOf: updatedAt })),
    ...others.map((rate) => ({ ...rate, updatedBy: null })),
  ]
  return all.filter((rate) => !unsupportedSide(sources, rate))
}
