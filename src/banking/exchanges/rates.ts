import type { Database } from '../../database/index.ts'
import { type AccountId, type Clock, type Instant, type Ratio, Refusal } from '../../kernel/index.ts'
import { type Pair, type PairRate, type Rates, toRatio } from '../../platform/exchange-rates.ts'
import { listProposals, listSetRates, type ProposedRate } from './rate-store.ts'
import { isSamePair, pairKey } from './table.ts'

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
  /** False without a rate in force, and while a cycle with the pair gains. */
  isQuoted: boolean
}

export interface RateSources {
  database: Database
  clock: Clock
  /** Mid rates. Pairs without a current rate are absent. */
  rates: Pick<Rates, 'list'>
  /** Currencies of the deployment. Stored rates can refer to others. */
  currencies: readonly string[]
  /** Returns the keys of the pairs that are not quoted. */
  findGainingPairs(rates: readonly PairRate[]): ReadonlySet<string>
}

export function unsupportedSide(
  { currencies }: Pick<RateSources, 'currencies'>,
  { source, target }: Pair,
): keyof Pair | undefined {
  if (!currencies.includes(source)) return 'source'
  return currencies.includes(target) ? undefined : 'target'
}

export function findSourceRate({ rates }: Pick<RateSources, 'rates'>, pair: Pair): RateInForce | undefined {
  const found = rates.list().find((rate) => isSamePair(rate, pair))
  if (!found) return undefined
  const { asOf, ...rate } = found
  return { ...rate, updatedBy: null, confirmedBy: null, updatedAt: asOf, expiresAt: null }
}

/** An operator's rate takes precedence until it expires. A proposed rate never applies. */
export async function ratesInForce(sources: Omit<RateSources, 'findGainingPairs'>): Promise<readonly RateInForce[]> {
  const set: RateInForce[] = await listSetRates(sources.database, sources.clock.now())
  const others = sources.rates
    .list()
    .flatMap((rate) => (set.some((each) => isSamePair(each, rate)) ? [] : (findSourceRate(sources, rate) ?? [])))
  return [...set, ...others].filter((rate) => !unsupportedSide(sources, rate))
}

/** Throws EXCHANGE.RATE_UNAVAILABLE while a cycle with the pair gains, also if two operators confirmed its rates. */
export async function assertTradable(sources: RateSources, pair: Pair): Promise<void> {
  return assertNoGain(sources, await ratesInForce(sources), pair)
}

/**
 * Returns the mid rate in units of target per unit of source. Throws EXCHANGE.RATE_UNAVAILABLE without a rate in force,
 * and as `assertTradable` does.
 */
export async function findQuotedRate(
  sources: RateSources,
  pair: Pair,
): Promise<{ mid: Ratio; operators: AccountId[] }> {
  const rates = await ratesInForce(sources)
  const found = rates.find((rate) => isSamePair(rate, pair))
  if (!found) throw new Refusal('EXCHANGE.RATE_UNAVAILABLE', { internal: 'no current rate' })
  assertNoGain(sources, rates, pair)
  const operators = [found.updatedBy, found.confirmedBy].filter((account) => account !== null)
  return { mid: toRatio(found, pair.source), operators }
}

/** Returns one element per pair. */
export async function listRates(sources: RateSources): Promise<CurrentRate[]> {
  const inForce = await ratesInForce(sources)
  const gaining = sources.findGainingPairs(inForce)
  const proposals = await listProposals(sources.database, sources.clock.now())
  return [
    ...inForce.map((rate) => ({
      pair: rate,
      inForce: rate,
      pending: proposals.find((each) => isSamePair(each, rate)) ?? null,
      isQuoted: !gaining.has(pairKey(rate)),
    })),
    ...proposals
      .filter((each) => !unsupportedSide(sources, each) && !inForce.some((rate) => isSamePair(rate, each)))
      .map((proposal) => ({ pair: proposal, inForce: null, pending: proposal, isQuoted: false })),
  ]
}

export async function readRate(sources: RateSources, pair: Pair): Promise<CurrentRate> {
  return (
    (await listRates(sources)).find((each) => isSamePair(each.pair, pair)) ?? {
      pair,
      inForce: null,
      pending: null,
      isQuoted: false,
    }
  )
}

function assertNoGain(sources: RateSources, rates: readonly PairRate[], pair: Pair): void {
  if (sources.findGainingPairs(rates).has(pairKey(pair)))
    throw new Refusal('EXCHANGE.RATE_UNAVAILABLE', { internal: 'a cycle of rates with this pair gains' })
}
