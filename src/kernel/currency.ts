/** Decimal places per currency: ISO 4217 (List One), and the crypto assets' own. */
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

export const isCurrency = (text: string): boolean => exponents.has(text)

/** Decimal places of a currency that is known; throws for any other one. */
export const exponentOf = (currency: string): number => {
  const exponent = exponents.get(currency)
  if (exponent === undefined) throw new RangeError(`unknown currency ${currency}`)
  return exponent
}
