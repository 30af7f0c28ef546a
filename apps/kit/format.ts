import { locale } from './i18n.ts'

/**
 * An amount in the form of the language, such as `1,234.50`, without its currency. The text stays exact, however long it is:
 * Intl reads decimal texts without rounding (ECMA-402).
 */
export function formatAmount(amount: string): string {
  if (!isDecimal(amount)) return amount
  const digits = amount.split('.')[1]?.length ?? 0
  return new Intl.NumberFormat(locale, { minimumFractionDigits: digits, maximumFractionDigits: digits }).format(amount)
}

export function formatMoney(amount: string, currency: string): string {
  return `${formatAmount(amount)} ${currency}`
}

export function formatCount(count: number): string {
  return new Intl.NumberFormat(locale).format(count)
}

/** A share such as 0.0123 as `1.23 %`, in the form of the language. */
export function formatShare(share: number): string {
  return new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 2 }).format(share)
}

/** A duration such as `12.5 ms`, with three digits. */
export function formatMs(ms: number): string {
  const form = { style: 'unit', unit: 'millisecond', maximumSignificantDigits: 3 } as const
  return new Intl.NumberFormat(locale, form).format(ms)
}

/** A wait such as `24 seconds`, or in minutes if it is long. */
export function formatWait(seconds: number): string {
  const [count, unit] = seconds <= 120 ? [seconds, 'second'] : [Math.ceil(seconds / 60), 'minute']
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(count)
}

/** In a time zone other than that of the browser, the time has the name of the zone. */
export function formatTime(instant: string, timeZone = browserZone): string {
  const at = new Date(instant)
  const time = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone }).format(at)
  return timeZone === browserZone ? time : `${time} ${zoneName(at, timeZone)}`
}

/** To the second, in the zone of the browser. */
export function formatInstant(instant: string): string {
  return new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' }).format(new Date(instant))
}

/** The name of a country or a language, such as `Germany` for `DE`. */
export function nameOfCode(type: 'region' | 'language', code: string): string {
  return new Intl.DisplayNames(locale, { type }).of(code) ?? code
}

/** The age of an instant, such as `3 hours ago`. */
export function formatAge(instant: string, now: number = Date.now()): string {
  const seconds = Math.round((new Date(instant).getTime() - now) / 1_000)
  const form = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })
  for (const [unit, length] of units)
    if (Math.abs(seconds) >= length) return form.format(Math.trunc(seconds / length), unit)
  return form.format(seconds, 'second')
}

const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone

/** Such as `GMT+9`. */
function zoneName(at: Date, timeZone: string): string {
  const parts = new Intl.DateTimeFormat(locale, { timeZone, timeZoneName: 'short' }).formatToParts(at)
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? timeZone
}

const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const

function isDecimal(text: string): text is `${number}` {
  return /^-?\d+(\.\d+)?$/.test(text)
}
