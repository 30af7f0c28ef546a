import fc from 'fast-check'
import { expect, test } from 'vitest'
import { computeFigures, type ExchangeTerms } from '../../../src/banking/exchanges/rules.ts'
import { moneyOf } from '../../../src/contract/fields.ts'
import { exponentOf, parseRatio, type Ratio, Refusal } from '../../../src/kernel/index.ts'

const currencies = ['JPY', 'USD', 'BHD', 'BTC', 'ETH']
const seed = Number(process.env.FC_SEED ?? Math.floor(Math.random() * 2 ** 31))

function exact(text: string): Ratio {
  const parsed = parseRatio(text)
  if (!parsed) throw new Error(text)
  return parsed
}
const terms = { spread: exact('0.005'), feeRate: exact('0.001'), quoteLifeMs: 1_000 }

function decimalOf(minor: bigint, currency: string): string {
  const places = exponentOf(currency)
  const text = minor.toString().padStart(places + 1, '0')
  return places === 0 ? text : `${text.slice(0, -places)}.${text.slice(-places)}`
}

const quoteRequest = fc.record({
  source: fc.constantFrom(...currencies),
  target: fc.constantFrom(...currencies),
  minor: fc.bigInt({ min: 1n, max: 10n ** 24n }),
  rateUnits: fc.bigInt({ min: 1n, max: 10n ** 12n }),
  fixedSide: fc.constantFrom('SOURCE' as const, 'TARGET' as const),
})

function tenTo(places: number): bigint {
  return 10n ** BigInt(places)
}

interface QuoteBody {
  sourceCurrency: string
  targetCurrency: string
  amount: string
  fixedSide: 'SOURCE' | 'TARGET'
}

/** Parses the amount as the handler does. */
function figuresOf(body: QuoteBody, mid: Ratio, exchangeTerms: ExchangeTerms) {
  const fixedCurrency = body.fixedSide === 'SOURCE' ? body.sourceCurrency : body.targetCurrency
  return computeFigures({ ...body, amount: moneyOf(body.amount, fixedCurrency) }, mid, exchangeTerms)
}

/** Undefined if the amount is less than one minor unit of the other currency. */
function figuresUnlessTooSmall(body: QuoteBody, mid: Ratio) {
  try {
    return figuresOf(body, mid, terms)
  } catch (error) {
    if (!(error instanceof Refusal) || error.detail.field !== 'amount') throw error
    return undefined
  }
}

test(`exchanges.quote: never more than the exact value, and less by under one unit (seed ${seed})`, () => {
  let computed = 0
  fc.assert(
    fc.property(quoteRequest, ({ source, target, minor, rateUnits, fixedSide }) => {
      fc.pre(source !== target)
      const amount = decimalOf(minor, fixedSide === 'SOURCE' ? source : target)
      const body = { sourceCurrency: source, targetCurrency: target, amount, fixedSide }
      const figures = figuresUnlessTooSmall(body, { numerator: rateUnits, denominator: tenTo(6) })
      if (!figures) return
      computed += 1
      // In target units at the customer's rate, as a fraction.
      const exactValue = figures.source.minor * rateUnits * 995n * tenTo(exponentOf(target))
      const denominator = tenTo(6) * 1000n * tenTo(exponentOf(source))
      const received = figures.target.minor * denominator
      expect(received <= exactValue).toBe(true)
      // Rounding costs the customer less than one minor unit.
      if (fixedSide === 'SOURCE') expect(exactValue - received < denominator).toBe(true)
      else expect(exactValue - received < rateUnits * 995n * tenTo(exponentOf(target))).toBe(true)
      const fee = figures.fee.minor * 1000n
      expect(fee >= figures.source.minor && fee - figures.source.minor < 1000n).toBe(true)
    }),
    { seed, numRuns: 3_000 },
  )
  expect(computed).toBeGreaterThan(1_000)
})

test.each([
  ['0.000000000001', '0.000000000000995'],
  ['0.000000011234567891', '0.0000000111783950515'],
  ['0.9215', '0.9168925'],
])('exchanges.quote at mid rate %s: shows the customer’s rate as %s', (mid, rate) => {
  const body = { sourceCurrency: 'JPY', targetCurrency: 'ETH', amount: '10000', fixedSide: 'SOURCE' as const }
  expect(figuresOf(body, exact(mid), terms).rate).toBe(rate)
})

const one = { numerator: 1n, denominator: 1n }
const free = { ...terms, spread: { numerator: 0n, denominator: 1n }, feeRate: { numerator: 0n, denominator: 1n } }
const maxAmount = '9'.repeat(30)

test.each([
  ['target is the maximum amount', 'JPY', 'KRW', maxAmount, 'SOURCE', one, free, true],
  ['target is above the maximum', 'JPY', 'USD', maxAmount, 'SOURCE', one, free, false],
  ['source is above the maximum', 'USD', 'JPY', maxAmount, 'TARGET', one, free, false],
  [
    'fee is above the maximum',
    'JPY',
    'KRW',
    maxAmount,
    'SOURCE',
    one,
    { ...free, feeRate: { numerator: 2n, denominator: 1n } },
    false,
  ],
] as const)(
  'exchanges.quote, largest amounts: %s',
  (_, sourceCurrency, targetCurrency, amount, fixedSide, mid, exchangeTerms, isAccepted) => {
    const quote = () => figuresOf({ sourceCurrency, targetCurrency, amount, fixedSide }, mid, exchangeTerms)
    if (isAccepted) expect(quote().target.minor).toBe(BigInt(maxAmount))
    else expect(quote).toThrow(expect.objectContaining({ detail: expect.objectContaining({ field: 'amount' }) }))
  },
)

test(`exchanges.quote: a round trip is never a profit (seed ${seed})`, () => {
  let returned = 0
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 10n ** 9n }), fc.bigInt({ min: 1n, max: 10n ** 9n }), (minor, rateUnits) => {
      const outbound = { sourceCurrency: 'USD', targetCurrency: 'JPY', fixedSide: 'SOURCE' } as const
      const inbound = { sourceCurrency: 'JPY', targetCurrency: 'USD', fixedSide: 'SOURCE' } as const
      const [outboundRate, inboundRate] = [
        { numerator: rateUnits, denominator: tenTo(6) },
        { numerator: tenTo(6), denominator: rateUnits },
      ]
      const first = figuresUnlessTooSmall({ ...outbound, amount: decimalOf(minor, 'USD') }, outboundRate)
      const second = first && figuresUnlessTooSmall({ ...inbound, amount: first.target.minor.toString() }, inboundRate)
      if (!second) return
      returned += 1
      expect(second.target.minor < first.source.minor + first.fee.minor).toBe(true)
    }),
    { seed, numRuns: 3_000 },
  )
  expect(returned).toBeGreaterThan(1_000)
})

test('exchanges.quote: each of 10,000 tiny exchanges lowers the value of the customer’s funds', () => {
  const euro = { numerator: 9_215n, denominator: 10_000n }
  const holds = { USD: 1_000_000n, EUR: 1_000_000n }
  const worth = () => holds.USD * euro.numerator + holds.EUR * euro.denominator
  for (let turn = 0; turn < 10_000; turn++) {
    const [source, target] = turn % 2 === 0 ? (['USD', 'EUR'] as const) : (['EUR', 'USD'] as const)
    const mid = source === 'USD' ? euro : { numerator: euro.denominator, denominator: euro.numerator }
    const fixedSide = turn % 4 < 2 ? 'SOURCE' : 'TARGET'
    const amount = decimalOf(BigInt(1 + (turn % 7)) + 1n, 'USD')
    const before = worth()
    const figures = figuresOf({ sourceCurrency: source, targetCurrency: target, amount, fixedSide }, mid, terms)
    holds[source] -= figures.source.minor + figures.fee.minor
    holds[target] += figures.target.minor
    expect(worth()).toBeLessThan(before)
  }
})
