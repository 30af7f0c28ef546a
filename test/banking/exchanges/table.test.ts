import fc from 'fast-check'
import { expect, test } from 'vitest'
import { computeFigures } from '../../../src/banking/exchanges/rules.ts'
import { exceedsBand, findGainingPairs, hasGain, pairKey } from '../../../src/banking/exchanges/table.ts'
import { moneyOf } from '../../../src/contract/fields.ts'
import { formatMoney, parseRatio, type Ratio, Refusal } from '../../../src/kernel/index.ts'
import { type PairRate, toRatio } from '../../../src/platform/exchange-rates.ts'

const seed = Number(process.env.FC_SEED ?? Math.floor(Math.random() * 2 ** 31))
function exact(text: string): Ratio {
  const parsed = parseRatio(text)
  if (!parsed) throw new Error(text)
  return parsed
}
const terms = { spread: exact('0.005'), feeRate: exact('0.001'), quoteLifeMs: 1_000 }
const free = { spread: exact('0'), feeRate: exact('0') }
const band = exact('0.05')

/** `USD/EUR 0.9215` */
function tableOf(...lines: string[]): PairRate[] {
  return lines.map((line) => {
    const [pair = '', rate = ''] = line.split(' ')
    const [source = '', target = ''] = pair.split('/')
    return { source, target, rate }
  })
}
const initial = tableOf('USD/EUR 0.9215', 'USD/JPY 148.35', 'EUR/JPY 160.98', 'BTC/USD 64250.5')
function withRates(...lines: string[]): PairRate[] {
  const changed = tableOf(...lines)
  return [...initial.filter((rate) => !changed.some((each) => pairKey(each) === pairKey(rate))), ...changed]
}
function gaining(rates: PairRate[], costs: typeof free = terms) {
  return [...findGainingPairs(rates, costs)].sort()
}

test('the rates of the defaults gain in no cycle; three moves within the band do, in either direction', () => {
  expect(gaining(initial)).toEqual([])
  const moved = withRates('USD/EUR 0.9674', 'EUR/JPY 169.01', 'USD/JPY 140.95')
  expect(gaining(moved)).toEqual(['EUR/JPY', 'EUR/USD', 'JPY/USD'])
  const against = withRates('EUR/USD 1.1393', 'JPY/EUR 0.006526', 'USD/JPY 155.75')
  expect(gaining(against)).toEqual(['EUR/JPY', 'EUR/USD', 'JPY/USD'])
})

test('a cycle whose product is exactly one does not gain; the smallest step more does', () => {
  const even = tableOf('USD/EUR 0.5', 'EUR/JPY 200', 'USD/JPY 100')
  expect(gaining(even, free)).toEqual([])
  const uneven = tableOf('USD/EUR 0.5', 'EUR/JPY 200.000000000001', 'USD/JPY 100')
  expect(gaining(uneven, free)).toEqual(['EUR/JPY', 'EUR/USD', 'JPY/USD'])
})

test('a cycle of four gains without a triangle; pairs outside it stay quoted', () => {
  const rates = tableOf('USD/EUR 1', 'EUR/JPY 1', 'JPY/BTC 1', 'BTC/USD 1.1', 'USD/ETH 3')
  expect(gaining(rates)).toEqual(['BTC/JPY', 'BTC/USD', 'EUR/JPY', 'EUR/USD'])
  const two = [...rates, ...tableOf('ETH/BHD 1', 'BHD/USD 0.4')]
  expect(gaining(two)).toEqual(['BHD/ETH', 'BHD/USD', 'BTC/JPY', 'BTC/USD', 'ETH/USD', 'EUR/JPY', 'EUR/USD'])
})

test('small steps of several pairs that add up exceed the band, also without a cycle', () => {
  const star = tableOf('USD/EUR 0.9215', 'USD/JPY 148.35')
  const moved = (eur: string, jpy: string) => tableOf(`USD/EUR ${eur}`, `USD/JPY ${jpy}`)
  expect(exceedsBand(moved('0.9675', '148.35'), star, terms, band)).toBe(false)
  expect(exceedsBand(moved('0.8755', '148.35'), star, terms, band)).toBe(false)
  expect(exceedsBand(moved('0.94', '151'), star, terms, band)).toBe(false)
  expect(exceedsBand(moved('0.9675', '141'), star, terms, band)).toBe(true)
  expect(exceedsBand(moved('0.8755', '155.7'), star, terms, band)).toBe(true)
  expect(exceedsBand(star, star.slice(1), terms, band)).toBe(true)
})

const codes = ['USD', 'EUR', 'JPY', 'BHD', 'BTC', 'ETH'] as const
const pairs = codes.flatMap((source, index) => codes.slice(index + 1).map((target) => ({ source, target })))
/** Most tables are near to consistent, so that gains are small and over several pairs. */
const worth: Record<string, number> = { USD: 1, EUR: 1.0852, JPY: 0.00674, BHD: 2.66, BTC: 64_250, ETH: 2_480 }
const table = fc
  .subarray(pairs, { minLength: 3 })
  .chain((chosen) =>
    fc.tuple(...chosen.map((pair) => fc.integer({ min: -300, max: 300 }).map((shift) => ({ ...pair, shift })))),
  )
  .map((chosen) =>
    chosen.map(({ source, target, shift }) => ({
      source,
      target,
      rate: (((worth[source] ?? 1) / (worth[target] ?? 1)) * (1 + shift / 10_000)).toFixed(12),
    })),
  )

/** Both directions of each simple cycle. */
function cyclesOf(rates: PairRate[]): PairRate[][] {
  const found: PairRate[][] = []
  const walk = (start: string, at: string, used: PairRate[], seen: string[]) => {
    for (const rate of rates) {
      const next: string | undefined = rate.source === at ? rate.target : rate.target === at ? rate.source : undefined
      if (next === undefined || used.includes(rate)) continue
      const step = [...used, rate]
      if (next === start && step.length > 2) found.push(step)
      else if (!seen.includes(next) && next > start) walk(start, next, step, [...seen, next])
    }
  }
  for (const start of codes) walk(start, start, [], [start])
  return found
}
function gainOf(cycle: PairRate[]): boolean {
  const [first, second] = cycle
  if (!first || !second) return false
  let at = first.source === second.source || first.source === second.target ? first.target : first.source
  let [numerator, denominator] = [1n, 1n]
  for (const rate of cycle) {
    const factor = toRatio(rate, at)
    numerator *= factor.numerator * 995n * 1_000n
    denominator *= factor.denominator * 1_000n * 1_001n
    at = rate.source === at ? rate.target : rate.source
  }
  return numerator > denominator
}

test(`agrees with all simple cycles: none of the quoted pairs gains (seed ${seed})`, () => {
  let withGain = 0
  fc.assert(
    fc.property(table, (rates) => {
      const stopped = findGainingPairs(rates, terms)
      const cycles = cyclesOf(rates).filter(gainOf)
      expect(hasGain(rates, terms)).toBe(cycles.length > 0)
      expect(stopped.size > 0).toBe(cycles.length > 0)
      for (const cycle of cycles) expect(cycle.some((rate) => stopped.has(pairKey(rate)))).toBe(true)
      const shortest = Math.min(...cycles.map(({ length }) => length))
      for (const cycle of cycles.filter(({ length }) => length === shortest))
        expect(cycle.every((rate) => stopped.has(pairKey(rate)))).toBe(true)
      const inCycles = new Set(cycles.flat().map(pairKey))
      expect(stopped.isSubsetOf(inCycles)).toBe(true)
      if (cycles.length > 0) withGain++
    }),
    { seed, numRuns: 400 },
  )
  expect(withGain).toBeGreaterThan(20)
})

test(`exchanges.create: no sequence of exchanges over the quoted pairs gains (seed ${seed})`, () => {
  const steps = fc.array(fc.nat(), { minLength: 1, maxLength: 24 })
  fc.assert(
    fc.property(
      table,
      fc.constantFrom(...codes),
      fc.bigInt({ min: 1n, max: 10n ** 14n }),
      steps,
      (rates, start, minor, choices) => {
        const stopped = findGainingPairs(rates, terms)
        const quoted = rates.filter((rate) => !stopped.has(pairKey(rate)))
        let held = { minor, currency: start as string }
        for (const choice of choices) {
          const possible = quoted.filter(({ source, target }) => source === held.currency || target === held.currency)
          const rate = possible[choice % possible.length]
          if (!rate) break
          const target = rate.source === held.currency ? rate.target : rate.source
          // The fee is paid on top of the source amount.
          const amount = (held.minor * 1_000n) / 1_001n
          const request = { sourceCurrency: held.currency, targetCurrency: target, fixedSide: 'SOURCE' as const }
          try {
            const money = moneyOf(formatMoney({ minor: amount, currency: held.currency }), held.currency)
            const figures = computeFigures({ ...request, amount: money }, toRatio(rate, held.currency), terms)
            expect(figures.source.minor + figures.fee.minor).toBeLessThanOrEqual(held.minor)
            held = { minor: figures.target.minor, currency: target }
          } catch (error) {
            if (!(error instanceof Refusal)) throw error
            break
          }
          if (held.currency === start) expect(held.minor).toBeLessThanOrEqual(minor)
        }
      },
    ),
    { seed, numRuns: 2_000 },
  )
})
