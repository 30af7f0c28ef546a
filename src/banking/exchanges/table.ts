import { complement, invert, multiplyRatios, type Ratio, ratio } from '../../kernel/index.ts'
import { type Pair, type PairRate, toRatio } from '../../platform/exchange-rates.ts'
import type { ExchangeTerms } from './rules.ts'

/* Judges the whole table of rates. All arithmetic is exact. */

type Terms = Pick<ExchangeTerms, 'spread' | 'feeRate'>

const one = ratio(1n, 1n)

/** In alphabetical order, without the direction. */
export function pairKey({ source, target }: Pair): string {
  return [source, target].sort().join('/')
}

/** Ignores the direction. */
export function isSamePair(a: Pair, b: Pair): boolean {
  return pairKey(a) === pairKey(b)
}

/** Whether customers can gain by exchanging in a circle, after spread and fee. */
export function hasGain(rates: readonly PairRate[], terms: Terms): boolean {
  return isGaining(legsOf(rates, terms))
}

/**
 * Returns the keys of the pairs in the shortest cycles that gain, then of those in the next longer ones, until no cycle
 * of the other pairs gains.
 */
export function findGainingPairs(rates: readonly PairRate[], terms: Terms): ReadonlySet<string> {
  const found = new Set<string>()
  let legs = legsOf(rates, terms)
  for (let length = 3; isGaining(legs); length++) {
    let back = startFrom(legs)
    for (let step = 1; step < length; step++) back = extend(back, legs)
    for (const leg of legs) {
      const rest = back.get(leg.target)?.get(leg.source)
      if (rest && isGreater(multiplyRatios(leg.factor, rest), one)) found.add(pairKey(leg))
    }
    legs = legs.filter((leg) => !found.has(pairKey(leg)))
  }
  return found
}

/**
 * Whether a conversion between any two currencies, over any pairs, is better than at the rates of `base` by more than
 * the band. Small steps of several pairs add up. Without gains in `rates`.
 */
export function exceedsBand(rates: readonly PairRate[], base: readonly PairRate[], terms: Terms, band: Ratio): boolean {
  const baseLegs = legsOf(base, terms)
  if (isGaining(baseLegs)) return true
  const allowed = bestProducts(baseLegs)
  // A rate that is lower by the band is higher by this share in the other direction.
  const widest = invert(complement(band))
  return [...bestProducts(legsOf(rates, terms))].some(([source, reached]) =>
    [...reached].some(([target, product]) => {
      const before = allowed.get(source)?.get(target)
      return !before || isGreater(product, multiplyRatios(before, widest))
    }),
  )
}

/** One direction of a pair: what a customer gets per unit that they pay, after spread and fee. */
interface Leg extends Pair {
  factor: Ratio
}

/** Bellman-Ford with products: the highest products stop growing unless a cycle gains. */
function isGaining(legs: readonly Leg[]): boolean {
  let best = new Map(legs.map(({ source }) => [source, one]))
  for (let round = 0; round < best.size; round++) {
    const next = new Map(best)
    for (const { source, target, factor } of legs) {
      const found = multiplyRatios(best.get(source) ?? one, factor)
      if (isGreater(found, next.get(target) ?? one)) next.set(target, found)
    }
    if ([...next].every(([currency, value]) => value === best.get(currency))) return false
    best = next
  }
  return best.size > 0
}

function isGreater(a: Ratio, b: Ratio): boolean {
  return a.numerator * b.denominator > b.numerator * a.denominator
}

function legsOf(rates: readonly PairRate[], { spread, feeRate }: Terms): Leg[] {
  const paid = ratio(feeRate.denominator + feeRate.numerator, feeRate.denominator)
  const kept = multiplyRatios(complement(spread), invert(paid))
  return rates.flatMap((rate) => {
    const { source, target } = rate
    return [
      { source, target, factor: multiplyRatios(toRatio(rate, source), kept) },
      { source: target, target: source, factor: multiplyRatios(toRatio(rate, target), kept) },
    ]
  })
}

/** Products of factors, by source and target. */
type Products = Map<string, Map<string, Ratio>>

function startFrom(legs: readonly Leg[]): Products {
  return new Map(legs.map(({ source }) => [source, new Map([[source, one]])]))
}

/** Returns the highest products of walks that are one leg longer. */
function extend(walks: Products, legs: readonly Leg[]): Products {
  const longer: Products = new Map()
  for (const [first, reached] of walks) {
    const ends = new Map<string, Ratio>()
    for (const { source, target, factor } of legs) {
      const product = reached.get(source)
      if (!product) continue
      const found = multiplyRatios(product, factor)
      const best = ends.get(target)
      if (!best || isGreater(found, best)) ends.set(target, found)
    }
    longer.set(first, ends)
  }
  return longer
}

/** Requires that no cycle gains. A best walk then passes each currency once. */
function bestProducts(legs: readonly Leg[]): Products {
  const best = startFrom(legs)
  let walks = best
  for (let step = 1; step < best.size; step++) {
    walks = extend(walks, legs)
    for (const [first, reached] of walks) {
      const known = best.get(first)
      for (const [end, product] of reached) {
        const earlier = known?.get(end)
        if (!earlier || isGreater(product, earlier)) known?.set(end, product)
      }
    }
  }
  return best
}
