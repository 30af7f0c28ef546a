import fc from 'fast-check'
import { expect, test } from 'vitest'
import { moneyOf } from '../../../src/contract/fields.ts'
import { computeFigures, type ExchangeTerms } from '../../../src/domains/exchanges/rules.ts'
import { exponentOf, parseRatio, type Ratio, Refusal } from '../../../src/kernel/index.ts'

const currencies = ['JPY', 'USD', 'BHD', 'BTC', 'ETH']
const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))

const exact = (text: string): Ratio => {
  const parsed = parseRatio(text)
  if (!parsed) throw new Error(text)
  return parsed
}
const terms = { spread: exact('0.005'), feeRate: exact('0.001'), quoteLifeMs: 1_000 }

/** Plain arithmetic of its own: units of 10^-18 of each currency's whole, and a rate of 12 places. */
const decimalOf = (minor: bigint, currency: string): string => {
  const places = exponentOf(currency)
  const text = minor.toString().padStart(places + 1, '0')
  return places === 0 ? text : `${text.slice(0, -places)}.${text.slice(-places)}`
}

const asked = fc.record({
  source: fc.constantFrom(...currencies),
  target: fc.constantFrom(...currencies),
  minor: fc.bigInt({ min: 1n, max: 10n ** 24n }),
  rateUnits: fc.bigInt({ min: 1n, max: 10n ** 12n }),
  fixedSide: fc.constantFrom('SOURCE' as const, 'TARGET' as const),
})

const tenTo = (places: number): bigint => 10n ** BigInt(places)

interface QuoteBody {
  sourceCurrency: string
  targetCurrency: string
  amount: string
  fixedSide: 'SOURCE' | 'TARGET'
}

/** The figures of a request body, its amount parsed as the handler does. */
const figuresOf = (body: QuoteBody, mid: Ratio, by: ExchangeTerms) => {
  const fixedCurrency = body.fixedSide === 'SOURCE' ? body.sourceCurrency : body.targetCurrency
  return computeFigures({ ...body, amount: moneyOf(body.amount, fixedCurrency) }, mid, by)
}

/** Undefined for too little to make one unit of the other side. */
const figuresUnlessTooLittle = (body: QuoteBody, mid: Ratio) => {
  try {
    return figuresOf(body, mid, terms)
  } catch (error) {
    if (!(error instanceof Refusal) || error.detail.field !== 'amount') throw error
    return undefined
  }
}

test(`an exchange never yields more than its exact worth, and less by under one unit (seed ${seed})`, () => {
  let figured = 0
  fc.assert(
    fc.property(asked, ({ source, target, minor, rateUnits, fixedSide }) => {
      fc.pre(source !== target)
      const amount = decimalOf(minor, fixedSide === 'SOURCE' ? source : target)
      const body = { sourceCurrency: source, targetCurrency: target, amount, fixedSide }
      const figures = figuresUnlessTooLittle(body, { numerator: rateUnits, denominator: tenTo(6) })
      if (!figures) return
      figured += 1
      // What the source is worth in the target's units at the customer's rate, as a fraction over `under`.
      const over = figures.source.minor * rateUnits * 995n * tenTo(exponentOf(target))
      const under = tenTo(6) * 1000n * tenTo(exponentOf(source))
      const given = figures.target.minor * under
      expect(given <= over).toBe(true)
      // The house keeps less than one unit of what was rounded.
      if (fixedSide === 'SOURCE') expect(over - given < under).toBe(true)
      else expect(over - given < rateUnits * 995n * tenTo(exponentOf(target))).toBe(true)
      const fee = figures.fee.minor * 1000n
      expect(fee >= figures.source.minor && fee - figures.source.minor < 1000n).toBe(true)
    }),
    { seed, numRuns: 3_000 },
  )
  expect(figured).toBeGreaterThan(1_000)
})

test.each([
  ['0.000000000001', '0.000000000000995'],
  ['0.000000011234567891', '0.0000000111783950515'],
  ['0.9215', '0.9168925'],
])('exchanges.quote at %s: the customer’s rate is told as %s, never as nothing', (mid, rate) => {
  const asked = { sourceCurrency: 'JPY', targetCurrency: 'ETH', amount: '10000', fixedSide: 'SOURCE' as const }
  expect(figuresOf(asked, exact(mid), terms).rate).toBe(rate)
})

const one = { numerator: 1n, denominator: 1n }
const free = { ...terms, spread: { numerator: 0n, denominator: 1n }, feeRate: { numerator: 0n, denominator: 1n } }
const most = '9'.repeat(30)

test.each([
  ['what is got is the most that the book keeps', 'JPY', 'KRW', most, 'SOURCE', one, free, true],
  ['what is got is more', 'JPY', 'USD', most, 'SOURCE', one, free, false],
  ['what is given is more', 'USD', 'JPY', most, 'TARGET', one, free, false],
  [
    'the fee is more',
    'JPY',
    'KRW',
    most,
    'SOURCE',
    one,
    { ...free, feeRate: { numerator: 2n, denominator: 1n } },
    false,
  ],
] as const)(
  'exchanges.quote 400 VAL, or not: %s',
  (_, sourceCurrency, targetCurrency, amount, fixedSide, mid, by, isKept) => {
    const quote = () => figuresOf({ sourceCurrency, targetCurrency, amount, fixedSide }, mid, by)
    if (isKept) expect(quote().target.minor).toBe(BigInt(most))
    else expect(quote).toThrow(expect.objectContaining({ detail: expect.objectContaining({ field: 'amount' }) }))
  },
)

test(`there and back again is never a profit (seed ${seed})`, () => {
  let returned = 0
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 10n ** 9n }), fc.bigInt({ min: 1n, max: 10n ** 9n }), (minor, rateUnits) => {
      const there = { sourceCurrency: 'USD', targetCurrency: 'JPY', fixedSide: 'SOURCE' } as const
      const back = { sourceCurrency: 'JPY', targetCurrency: 'USD', fixedSide: 'SOURCE' } as const
      const [dearer, cheaper] = [
        { numerator: rateUnits, denominator: tenTo(6) },
        { numerator: tenTo(6), denominator: rateUnits },
      ]
      const first = figuresUnlessTooLittle({ ...there, amount: decimalOf(minor, 'USD') }, dearer)
      const second = first && figuresUnlessTooLittle({ ...back, amount: first.target.minor.toString() }, cheaper)
      if (!second) return
      returned += 1
      expect(second.target.minor < first.source.minor + first.fee.minor).toBe(true)
    }),
    { seed, numRuns: 3_000 },
  )
  expect(returned).toBeGreaterThan(1_000)
})

test('each of ten thousand tiny exchanges, to and fro, leaves the customer poorer', () => {
  const euro = { numerator: 9_215n, denominator: 10_000n }
  const holds = { USD: 1_000_000n, EUR: 1_000_000n }
  const worth = () => holds.USD * euro.numerator + holds.EUR * euro.denominator
  for (let turn = 0; turn < 10_000; turn++) {
    const [source, target] = turn % 2 === 0 ? (['USD', 'EUR'] as const) : (['EUR', 'USD'] as const)
    const mid = source === 'USD' ? euro : { numerator: euro.denominator, denominator: euro.numerator }
    const fixedSide = turn % 4 < 2 ? 'SOURCE' : 'TARGET'
    const amount = decimalOf(BigInt(1 + (turn % 7)) + 1n, 'USD')
    const before = worth()
    const made = figuresOf({ sourceCurrency: source, targetCurrency: target, amount, fixedSide }, mid, terms)
    holds[source] -= made.source.minor + made.fee.minor
    holds[target] += made.target.minor
    expect(worth()).toBeLessThan(before)
  }
})
