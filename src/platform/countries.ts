import codes from 'i18n-iso-countries/codes.json' with { type: 'json' }

/** A country of ISO 3166-1. */
export interface Country {
  alpha2: string
  alpha3: string
  numeric: number
}

export const countries: readonly Country[] = codes.flatMap(([alpha2, alpha3, numeric]) =>
  alpha2 && alpha3 && numeric ? [{ alpha2, alpha3, numeric: Number(numeric) }] : [],
)

const byAlpha2 = new Set(countries.map((country) => country.alpha2))

export function isCountry(alpha2: string): boolean {
  return byAlpha2.has(alpha2)
}
