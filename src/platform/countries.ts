import codes from 'i18n-iso-countries/codes.json' with { type: 'json' }
import { isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js/min'

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

/**
 * Returns the number in E.164, and an empty text for an empty text. `country` completes a national number. Returns
 * undefined if no country has numbers of this length.
 */
export function parsePhone(text: string, country: string): string | undefined {
  if (text === '') return ''
  const parsed = parsePhoneNumberFromString(text, {
    extract: false,
    ...(isSupportedCountry(country) && { defaultCountry: country }),
  })
  return parsed?.isPossible() ? parsed.number : undefined
}

/** For domains. */
export const countryPorts = { isCountry, parsePhone }
