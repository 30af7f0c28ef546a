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
import { Timezones } from './timezones.ts'

/** UTC offsets change only at full quarters of an hour. */
const periodMs = minutes(15)

/** Freezing a list lets the gateway encode it only once. */
class ListCache<T extends object> {
  readonly #latest = new Map<Locale, { period: number; list: T }>()

  read(locale: Locale, period: number, build: () => T): T {
    const known = this.#latest.get(locale)
    if (known?.period === period) return known.list
    const list = freezeReply(build())
    this.#latest.set(locale, { period, list })
    return list
  }
}

export function createHandlers(): HandlerTable {
  const countries = new ListCache<ReturnType<typeof countriesIn>>()
  const timezones = new ListCache<ReturnType<Timezones['list']>>()
  const zones = new Timezones()
  return createHandlerTable(contract, {
    listCountries: async ({ locale }) => countries.read(locale, 0, () => countriesIn(locale)),
    listTimezones: async ({ locale, receivedAt }) =>
      timezones.read(locale, periodOf(receivedAt), () => zones.list(locale, receivedAt)),
  })
}

function periodOf(at: Instant): number {
  return Math.floor(at / periodMs)
}
