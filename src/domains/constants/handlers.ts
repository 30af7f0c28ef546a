import {
  createHandlerTable,
  freezeReply,
  type HandlerTable,
  type Instant,
  type Locale,
  minutes,
} from '../../kernel/index.ts'
import * as contract from './contract.ts'
import { countriesIn } from './countries.ts'
import { createTimezones } from './timezones.ts'

/** Zones change their offsets on quarters of an hour. */
const period = minutes(15)

/** The last answer per language, made anew when its key changes. */
const remembered = <T extends object>(make: (locale: Locale, at: Instant) => T, keyOf: (at: Instant) => number) => {
  const latest = new Map<Locale, { key: number; value: T }>()
  return (locale: Locale, at: Instant): T => {
    const key = keyOf(at)
    const known = latest.get(locale)
    if (known?.key === key) return known.value
    const value = freezeReply(make(locale, at))
    latest.set(locale, { key, value })
    return value
  }
}

export const createHandlers = (): HandlerTable => {
  const countries = remembered(countriesIn, () => 0)
  const timezones = remembered(createTimezones(), (at) => Math.floor(at / period))
  return createHandlerTable(contract, {
    listCountries: async ({ locale, receivedAt }) => countries(locale, receivedAt),
    listTimezones: async ({ locale, receivedAt }) => timezones(locale, receivedAt),
  })
}
