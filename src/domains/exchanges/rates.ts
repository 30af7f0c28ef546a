import type { Database } from '../../database/index.ts'
import { type AccountId, type Clock, type Instant, invert, parseRatio, type Ratio } from '../../kernel/index.ts'
import type { Rates } from '../../platform/exchange-rates.ts'
import { listProposals, listSetRates, type Pair, type PairRate, type ProposedRate, readSetRate } from './rate-store.ts'

/** A rate in force. `expiresAt` and the operators are null if it comes from the provider or the configuration. */
export interface RateInForce extends PairRate {
  updatedBy: AccountId | null
  confirmedBy: AccountId | null
  updatedAt: Instant
  expiresAt: Instant | null
}

/** The rate of a pair. `inForce` is null if the pair only has a proposed rate. */
export interface CurrentRate {
  pair: Pair
  inForce: RateInForce | null
  pending: ProposedRate | null
}

export interface RateSources {
  database: Database
  clock: Clock
  /** Mid rates. Pairs without a current rate are absent. */
  rates: Pick<Rates, 'list'>
  /** Currencies of the deployment. Stored rates can refer to others. */
  currencies: readonly string[]
}

export const unsupportedSide = (
  { currencies }: Pick<RateSources, 'currencies'>,
  { source, target }: Pair,
): keyof Pair | undefined => {
  if (!currencies.includes(source)) return 'source'
  return currencies.includes(target) ? undefined : 'target'
}

/** Ignores the direction. */
const isSamePair = (a: Pair, b: Pair): boolean =>
  (a.source === b.source && a.target === b.target) || (a.source === b.target && a.target === b.source)

/** Returns a rate as a ratio, in units of the other currency per unit of `source`. */
export const toRatio = (rate: PairRate, source: string): Ratio => {
  const parsed = parseRatio(rate.rate)
  if (!parsed || parsed.numerator === 0n) throw new RangeError(`${rate.rate} is not a rate`)
  return rate.source === source ? parsed : invert(parsed)
}

export const findSourceRate = ({ rates }: Pick<RateSources, 'rates'>, pair: Pair): PairRate | undefined =>
  rates.list().find((rate) => isSamePair(rate, pair))

/**
 * Returns the mid rate in units of target per unit of source. An operator's rate takes precedence until it expires. A
 * proposed rate never applies.
 */
export const findRate = async (
  sources: RateSources,
  pair: Pair,
): Promise<{ mid: Ratio; operators: AccountId[] } | undefined> => {
  if (unsupportedSide(sources, pair)) return undefined
  const set = await readSetRate(sources.database, pair, sources.clock.now())
  const found = set ?? findSourceRate(sources, pair)
  const operators = [set?.updatedBy, set?.confirmedBy].filter((account) => account != null)
  return found && { mid: toRatio(found, pair.source), operators }
}

/** Returns one element per pair. */
export const listRates = async (sources: RateSources): Promise<CurrentRate[]> => {
  const now = sources.clock.now()
  const set: RateInForce[] = await listSetRates(sources.database, now)
  const others = sources.rates
    .list()
    .filter((rate) => !set.some((each) => isSamePair(each, rate)))
    .map(({ asOf, ...rate }) => ({ ...rate, updatedBy: null, confirmedBy: null, updatedAt: asOf, expiresAt: null }))
  const inForce: RateInForce[] = [...set, ...others]
  const proposals = await listProposals(sources.database, now)
  const all: CurrentRate[] = [
    ...inForce.map((rate) => ({
      pair: rate,
      inForce: rate,
      pending: proposals.find((each) => isSamePair(each, rate)) ?? null,
    })),
    ...proposals
      .filter((proposal) => !inForce.some((rate) => isSamePair(rate, proposal)))
      .map((proposal) => ({ pair: proposal, inForce: null, pending: proposal })),
  ]
  return all.filter(({ pair }) => !unsupportedSide(sources, pair))
}

export const readRate = async (sources: RateSources, pair: Pair): Promise<CurrentRate> =>
  (await listRates(sources)).find((each) => isSamePair(each.pair, pair)) ?? { pair, inForce: null, pending: null }
