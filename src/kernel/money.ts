/** Currencies by number of decimal places (ISO 4217 List One, crypto assets). */
const byExponent: Record<number, string> = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  2: `AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY
      COP CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR
      ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK
      MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP
      SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD XCG YER ZAR
      ZMW ZWG`,
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
  6: 'USDC USDT',
  8: 'BTC LTC',
  18: 'ETH DAI',
}

const exponents = new Map<string, number>(
  Object.entries(byExponent).flatMap(([exponent, list]) =>
    list.split(/\s+/).map((currency): [string, number] => [currency, Number(exponent)]),
  ),
)

/** Whether amounts of this currency are supported: ISO 4217 and a few crypto assets. */
export function isCurrency(text: string): boolean {
  return exponents.has(text)
}

/** Throws a RangeError for an unknown currency. */
export function exponentOf(currency: string): number {
  const exponent = exponents.get(currency)
  if (exponent === undefined) throw new RangeError(`unknown currency ${currency}`)
  return exponent
}

/** An exact amount in minor units: 1250 for 12.50 USD. */
export interface Money {
  readonly minor: bigint
  readonly currency: string
}

/** The ledger's columns hold totals below 10^38. */
const maxDigits = 30

export function money(minor: bigint, currency: string): Money {
  return { minor, currency }
}

/**
 * Parses a decimal string exactly. Returns undefined for a sign, an exponent, a leading zero, excess decimal places or
 * more than 30 digits.
 */
export function parseMoney(text: string, currency: string): Money | undefined {
  const digits = text.length <= maxDigits + 1 ? splitDecimal(text) : undefined
  if (!digits) return undefined
  const { whole, fraction } = digits
  const exponent = exponentOf(currency)
  if (fraction.length > exponent || whole.length + exponent > maxDigits) return undefined
  return { minor: BigInt(whole + fraction.padEnd(exponent, '0')), currency }
}

/** Whether the ledger accepts the amount: not negative, and at most 30 digits. */
export function isStorable({ minor }: Money): boolean {
  return minor >= 0n && minor < 10n ** BigInt(maxDigits)
}

/** Returns a decimal string with all of the currency's decimal places. */
export function formatMoney({ minor, currency }: Money): string {
  const exponent = exponentOf(currency)
  const digits = (minor < 0n ? -minor : minor).toString().padStart(exponent + 1, '0')
  const point = digits.length - exponent
  const text = exponent === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`
  return minor < 0n ? `-${text}` : text
}

/** Throws a TypeError for different currencies. */
export function add(a: Money, b: Money): Money {
  assertSameCurrency(a, b)
  return { minor: a.minor + b.minor, currency: a.currency }
}

/** Throws a TypeError for different currencies. The result can be negative. */
export function subtract(a: Money, b: Money): Money {
  assertSameCurrency(a, b)
  return { minor: a.minor - b.minor, currency: a.currency }
}

/** Returns -1, 0 or 1. Throws a TypeError for different currencies. */
export function compare(a: Money, b: Money): number {
  assertSameCurrency(a, b)
  return a.minor < b.minor ? -1 : a.minor > b.minor ? 1 : 0
}

/** An exact fraction, such as a fee rate. */
export interface Ratio {
  readonly numerator: bigint
  readonly denominator: bigint
}

/** Throws a RangeError unless the denominator is positive. */
export function ratio(numerator: bigint, denominator: bigint): Ratio {
  if (denominator <= 0n) throw new RangeError('a ratio has a denominator above zero')
  return { numerator, denominator }
}

/** Parses a decimal string exactly. Returns undefined for a sign, an exponent or a leading zero. */
export function parseRatio(text: string): Ratio | undefined {
  const digits = splitDecimal(text)
  return (
    digits && { numerator: BigInt(digits.whole + digits.fraction), denominator: 10n ** BigInt(digits.fraction.length) }
  )
}

/** The form of an exchange rate. `isRate` also requires the rate to be above zero. */
export const ratePattern = /^(0|[1-9]\d{0,11})(\.\d{1,12})?$/

/** Requires a positive rate. */
export function isRate(text: string): boolean {
  return ratePattern.test(text) && /[1-9]/.test(text)
}

/** Multiplies exactly. */
export function multiplyRatios(a: Ratio, b: Ratio): Ratio {
  return {
    numerator: a.numerator * b.numerator,
    denominator: a.denominator * b.denominator,
  }
}

/** Throws a RangeError for zero. */
export function invert({ numerator, denominator }: Ratio): Ratio {
  return ratio(denominator, numerator)
}

/** Returns one minus the ratio, which must be at most one. */
export function complement({ numerator, denominator }: Ratio): Ratio {
  return {
    numerator: denominator - numerator,
    denominator,
  }
}

/** Returns `units * ratio`, rounded down. `units` must not be negative. */
export function multiplyRoundingDown(units: bigint, { numerator, denominator }: Ratio): bigint {
  return (units * numerator) / denominator
}

/** Returns `units * ratio`, rounded up. `units` must not be negative. */
export function multiplyRoundingUp(units: bigint, { numerator, denominator }: Ratio): bigint {
  return (units * numerator + denominator - 1n) / denominator
}

/** Returns a decimal string with at most `places` decimal places, truncated and without trailing zeros. */
export function formatTruncated({ numerator, denominator }: Ratio, places: number): string {
  const digits = ((numerator * 10n ** BigInt(places)) / denominator).toString().padStart(places + 1, '0')
  const fraction = digits.slice(-places).replace(/0+$/, '')
  const whole = digits.slice(0, -places)
  return fraction === '' ? whole : `${whole}.${fraction}`
}

function splitDecimal(text: string): { whole: string; fraction: string } | undefined {
  const [matched, whole = '', fraction = ''] = /^(0|[1-9]\d*)(?:\.(\d+))?$/.exec(text) ?? []
  return matched === undefined ? undefined : { whole, fraction }
}

function assertSameCurrency(a: Money, b: Money): void {
  if (a.currency !== b.currency) throw new TypeError(`mixed currencies ${a.currency} and ${b.currency}`)
}
