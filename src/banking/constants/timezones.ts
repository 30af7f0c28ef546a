import { crc32 } from 'node:zlib'
import { type Instant, type Locale, toDate } from '../../kernel/index.ts'

/**
 * Current IANA names of zones that ICU lists under former names (file `backward` of the IANA database). Operations
 * that take a time zone accept the current and the former name.
 */
const renamed: Record<string, string> = {
  'Africa/Asmera': 'Africa/Asmara',
  'America/Buenos_Aires': 'America/Argentina/Buenos_Aires',
  'America/Catamarca': 'America/Argentina/Catamarca',
  'America/Coral_Harbour': 'America/Atikokan',
  'America/Cordoba': 'America/Argentina/Cordoba',
  'America/Godthab': 'America/Nuuk',
  'America/Indianapolis': 'America/Indiana/Indianapolis',
  'America/Jujuy': 'America/Argentina/Jujuy',
  'America/Louisville': 'America/Kentucky/Louisville',
  'America/Mendoza': 'America/Argentina/Mendoza',
  'Asia/Calcutta': 'Asia/Kolkata',
  'Asia/Katmandu': 'Asia/Kathmandu',
  'Asia/Rangoon': 'Asia/Yangon',
  'Asia/Saigon': 'Asia/Ho_Chi_Minh',
  'Atlantic/Faeroe': 'Atlantic/Faroe',
  'Europe/Kiev': 'Europe/Kyiv',
  'Pacific/Enderbury': 'Pacific/Kanton',
  'Pacific/Ponape': 'Pacific/Pohnpei',
  'Pacific/Truk': 'Pacific/Chuuk',
}

const zones: readonly string[] = [
  ...new Set(['UTC', ...Intl.supportedValuesOf('timeZone').map((zone) => renamed[zone] ?? zone)]),
]

/** Caches formatters and labels, because creating the formatters of all zones takes 100 ms. */
export class Timezones {
  readonly #formats = new Map<string, Intl.DateTimeFormat>()
  readonly #labels = new Map<Locale, ReadonlyMap<string, string>>()

  /** Code and value derive from the name, so they are stable. */
  list(locale: Locale, at: Instant) {
    const labels = this.#labelsIn(locale, at)
    return zones
      .map((zone) => ({ zone, offset: this.#offsetAt(zone, at) }))
      .sort((a, b) => a.offset - b.offset || (a.zone < b.zone ? -1 : 1))
      .map(({ zone, offset }) => ({
        code: zone.toUpperCase().replaceAll('/', '_'),
        label: labels.get(zone) ?? zone,
        zoneIdCode: zone,
        utcOffset: offsetText(offset),
        value: crc32(zone) & 0x7fffffff,
      }))
  }

  #offsetAt(zone: string, at: Instant): number {
    const known = this.#formats.get(zone)
    const format = known ?? new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' })
    this.#formats.set(zone, format)
    return offsetIn(format, at)
  }

  #labelsIn(locale: Locale, at: Instant): ReadonlyMap<string, string> {
    const labels = this.#labels.get(locale) ?? new Map(zones.map((zone) => [zone, labelOf(locale, zone, at)]))
    this.#labels.set(locale, labels)
    return labels
  }
}

/** Formats an offset as `UTC+8`, `UTC-3:30` or `UTC+0`. */
function offsetText(offset: number): string {
  const [hours, minutes] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60]
  const rest = minutes === 0 ? '' : `:${String(minutes).padStart(2, '0')}`
  return `UTC${offset < 0 ? '-' : '+'}${hours}${rest}`
}

/** In minutes, including daylight saving time. */
function offsetIn(format: Intl.DateTimeFormat, at: Instant): number {
  const [, sign, hours = '0', minutes = '0'] = /([+-])(\d{2}):(\d{2})/.exec(nameOf(format, at)) ?? []
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes))
}

function nameOf(format: Intl.DateTimeFormat, at: Instant): string {
  return format.formatToParts(toDate(at)).find((part) => part.type === 'timeZoneName')?.value ?? ''
}

function labelOf(locale: Locale, zone: string, at: Instant): string {
  if (zone === 'UTC') return zone
  const format = new Intl.DateTimeFormat(locale, { timeZone: zone, timeZoneName: 'longGeneric' })
  return `${nameOf(format, at)} (${cityOf(zone)})`
}

function cityOf(zone: string): string {
  return zone.slice(zone.lastIndexOf('/') + 1).replaceAll('_', ' ')
}
