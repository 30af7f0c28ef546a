import type { Logger } from 'pino'
import type { PairRate } from '../../platform/exchange-rates.ts'
import type { ExchangeTerms } from './rules.ts'
import { findGainingPairs } from './table.ts'

/** Judges a table once, until a rate changes. */
export function gainWatch(terms: ExchangeTerms, logger: Pick<Logger, 'warn'>) {
  let [table, pairs]: [string, ReadonlySet<string>] = ['', new Set()]
  return (rates: readonly PairRate[]): ReadonlySet<string> => {
    const current = JSON.stringify(rates.map(({ source, target, rate }) => [source, target, rate]))
    if (current === table) return pairs
    const found = findGainingPairs(rates, terms)
    const hasChanged = found.symmetricDifference(pairs).size > 0
    if (hasChanged) logger.warn({ pairs: [...found] }, 'pairs that are not quoted, because a cycle of rates gains')
    ;[table, pairs] = [current, found]
    return pairs
  }
}
