import type { CodedFamily, CodedValue } from './coded-values.ts'
import type { Code } from './codes.ts'

/** The languages of the interface (section 9); the first one is the fallback. */
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

/** Beyond that it is none of ours with anything behind it: a header's whole length, looked up subtag by subtag, takes a tenth of a second. */
const longestTag = 64

const known = (tag: string): Locale | undefined => {
  const trimmed = tag.trim()
  if (trimmed.length > longestTag) return undefined
  let name = trimmed.replaceAll('_', '-').toLowerCase()
  while (name !== '') {
    const found = byLowerCase.get(name)
    if (found) return found
    name = name.slice(0, Math.max(name.lastIndexOf('-'), 0))
  }
  return undefined
}

/** The best language for an X-LOCALE or Accept-Language header (RFC 4647 lookup); an unknown one falls back to en. */
export const parseLocale = (header: string | undefined): Locale => {
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
    const locale = q > 0 ? known(tag) : undefined
    if (locale) return locale
  }
  return fallbackLocale
}

/** Every text that people read, in their language (config/locales). */
export interface Words {
  /** The public sentence of a refusal; it names the invalid field where there is one. */
  refusal(code: Code, locale: Locale, field?: string): string
  /** A coded value with its label and description. Throws RangeError for a code that is not in the family. */
  coded<C extends string>(family: CodedFamily<C>, code: C, locale: Locale): CodedValue
  /** Any other text by its key, with its {{placeholders}} filled. */
  text(key: string, locale: Locale, values?: Record<string, string>): string
}
