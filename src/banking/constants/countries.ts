import numbering from 'libphonenumber-js/min/metadata'
import type { Locale } from '../../kernel/index.ts'
import { countries } from '../../platform/countries.ts'

/** Territories without a numbering plan in libphonenumber (ITU-T E.164). */
const additionalCallingCodes: Record<string, string> = {
  AQ: '672',
  BV: '47',
  GS: '500',
  HM: '672',
  PN: '64',
  TF: '262',
  UM: '1',
}

/** Several countries can share one code. */
const callingCodes = new Map(
  Object.entries(numbering.country_calling_codes).flatMap(([code, sharing]) =>
    sharing.map((alpha2): [string, string] => [alpha2, code]),
  ),
)

/** Returns all countries, sorted by name. `code` (alpha-2) and `value` (ISO numeric) are stable. */
export function countriesIn(locale: Locale) {
  const names = new Intl.DisplayNames(locale, { type: 'region' })
  const order = new Intl.Collator(locale)
  return countries
    .map(({ alpha2, alpha3, numeric }) => ({
      code: alpha2,
      label: names.of(alpha2) ?? alpha2,
      alpha2Code: alpha2,
      alpha3Code: alpha3,
      value: numeric,
      numericCode: numeric,
      phoneCode: `+${phoneCode(alpha2)}`,
    }))
    .sort((a, b) => order.compare(a.label, b.label))
}

function phoneCode(alpha2: string): string {
  return callingCodes.get(alpha2) ?? additionalCallingCodes[alpha2] ?? ''
}
