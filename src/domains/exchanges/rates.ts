import { type AccountId, inverse, parseRatio, type Ratio } from '../../kernel/index.ts'
import type { Database } from '../../platform/database/index.ts'
import type { Rate, Rates } from '../../platform/rates/index.ts'
import { listSetRates, readSetRate } from './store.ts'

export interface RateInForce extends Rate {
  /** The operator who set it; null for the source's own. */
  updatedBy: string | null
}

const isOf = (rate: { source: string; target: string }, a: string, b: string): boolean =>
  (rate.source === a && rate.target === b) || (rate.source === b && rate.target === a)

const ratioOf = (rate: { source: string; rate: string }, source: string): Ratio => {
  const parsed = parseRatio(rate.rate)
  if (!parsed || parsed.over === 0n) throw new RangeError(`${rate.rate} is no rate`)
  return rate.source === source ? parsed : inverse(parsed)
}

/**
 * Units of target for one of source: what an operator has set, and who that was, else what the source says; undefined for
 * neither.
 */
export const rateFor = async (
  { database, rates }: { database: Database; rates: Pick<Rates, 'list'> },
  source: string,
  target: string,
): Promise<{ mid: Ratio; setBy: AccountId | null } | undefined> => {
  const set = await readSetRate(database, source, target)
  const found = set ?? rates.list().find((rate) => isOf(rate, source, target))
  return found && { mid: ratioOf(found, source), setBy: set?.updatedBy ?? null }
}

/** Every pair once, as it is in force now. */
export const ratesInForce = async (database: Database, rates: Pick<Rates, 'list'>): Promise<RateInForce[]> => {
  const set = await listSetRates(database)
  const others = rates.list().filter((rate) => !set.some(({ source, target }) => isOf(rate, source, target)))
  return [
    ...set.map(({ updatedAt, ...rate }) => ({ ...rate, asOf: updatedAt })),
    ...others.map((rate) => ({ ...rate, updatedBy: null })),
  ]
}
