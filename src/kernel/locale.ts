import type { CodedFamily, CodedValue } from './coded-values.ts'
import type { Code } from './codes.ts'

export const locales = ['en', 'zh', 'zh-Hant', 'ja', 'vi'] as const
export type Locale = (typeof locales)[number]
export const fallbackLocale: Locale = 'en'

const byTag: ReadonlyMap<string, Locale> = new Map(locales.map((locale) => [locale, locale]))
const byLowerCase = new Map<string, Locale>([
  ...locales.map((locale) => [locale.toLowerCase(), locale] as const),
  ['zh-tw', 'zh-Hant'],
  ['zh-hk', 'zh-Hant'],
  ['zh-mo', 'zh-Hant'],
])

/** Looking up a tag as long as a whole header would take a tenth of a second. */
const maxTagLength = 64

/**
 * Returns the best language for X-LOCALE or Accept-Language (RFC 4647 lookup). Default: `en`.
 */
export function parseLocale(header: string | undefined): Locale {
  if (header === undefined) return fallbackLocale
  const exact = byTag.get(header)
  if (exact) return exact
  const ranges = header
    .split(',')
    .slice(0, 16)
    .map((part) => {
      const [tag = '', ...parameters] = part.split(';')
      const quality = parameters.map((text) => text.trim().toLowerCase()).find((text) => text.startsWith('q='))
      return { tag, q: quality ? Number(quality.slice(2)) || 0 : 1 }
    })
  ranges.sort((a, b) => b.q - a.q)
  for (const { tag, q } of ranges) {
    const locale = q > 0 ? lookUp(tag) : undefined
    if (locale) return locale
  }
  return fallbackLocale
}

/** Translated texts of the gateway and of the domains. */
export interface Words {
  /** Returns a refusal's public message, which can name the invalid field. */
  refusal(code: Code, locale: Locale, field?: string): string
  /** Throws a RangeError for a code outside the family. */
  coded<C extends string>(family: CodedFamily<C>, code: C, locale: Locale): CodedValue
  /** Returns undefined for a code outside the family. */
  findCoded(family: CodedFamily, code: string, locale: Locale): CodedValue | undefined
  /** Returns any other text by its key. `values` replace its {{placeholders}}. */
  text(key: string, locale: Locale, values?: Record<string, string>): string
}

function lookUp(tag: string): Locale | undefined {
  const trimmed = tag.trim()
  if (trimmed.length > maxTagLength) return undefined
  let name = trimmed.replaceAll('_', '-').toLowerCase()
  while (name !== '') {
    const found = byLowerCase.get(name)
    if (found) return found
    name = name.slice(0, Math.max(name.lastIndexOf('-'), 0))
  }
  return undefined
}
