import type { Database } from '../../database/index.ts'
import { type AccountId, invert, parseRatio, type Ratio } from '../../kernel/index.ts'
import type { Rate, Rates } from '../../platform/rates/index.ts'
import { listSetRates, readSetRate } from './store.ts'

export interface RateInForce extends Rate {
  /** The operator who set it; null for the source's own. */
  updatedBy: string | null
}

export interface RateSources {
  database: Database
  /** Middle rates from outside or from the configuration. What has none, or only a stale one, is not quoted. */
  rates: Pick<Rates, 'list'>
  /** What the deployment keeps: an operator's rate holds until another one is set, and outlives a currency. */
  currencies: readonly string[]
}

interface Pair {
  source: string
  target: string
}

/** The side of a pair whose currency is not kept, if there is one. */
export const unkeptSide = ({ currencies }: RateSources, { source, target }: Pair): keyof Pair | undefined => {
  if (!currencies.includes(source)) return 'source'
  return currencies.includes(target) ? undefined : 'target'
}

const isOf = (rate: Pair, a: string, b: string): boolean =>
  (rate.source === a && rate.target === b) || (rate.source === b && rate.target === a)

const ratioOf = (rate: { source: string; rate: string }, source: string): Ratio => {
  const parsed = parseRatio(rate.rate)
  if (!parsed || parsed.numerator === 0n) throw new RangeError(`${rate.rate} is no rate`)
  return rate.source === source ? parsed : invert(parsed)
}

/**
 * Units of target for one of source: what an operator has set, and who that was, else what the source says; undefined for
 * neither.
 */
export const rateFor = async (
  sources: RateSources,
  source: string,
  target: string,
): Promise<{ mid: Ratio; setBy: AccountId | null } | undefined> => {
  if (unkeptSide(sources, { source, target })) return undefined
  const set = await readSetRate(sources.database, source, target)
  const found = set ?? sources.rates.list().find((rate) => isOf(rate, source, target))
  return found && { mid: ratioOf(found, source), setBy: set?.updatedBy ?? null }
}

/** Every pair once, as it is in force now. */
export const ratesInForce = async (sources: RateSources): Promise<RateInForce[]> => {
  const set = await listSetRates(sources.database)
  const others = sources.rates.list().filter((rate) => !set.some(({ source, target }) => isOf(rate, source, target)))
  const all = [
    ...set.map(({ updatedAt, ...rate }) => ({ ...rate, asOf: updatedAt })),
    ...others.map((rate) => ({ ...rate, updatedBy: null })),
  ]
  return all.filter((rate) => !unkeptSide(sources, rate))
}
