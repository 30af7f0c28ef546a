import i18next from 'i18next'
import { type Code, type CodedFamily, fallbackLocale, type Locale, locales, type Words } from '../../kernel/index.ts'
import { readTexts } from './catalogue.ts'
import { type CodedOverrides, codedValues } from './coded-values.ts'

export interface WordsOptions {
  /** Holds a `<locale>.yaml` per language: config/locales. */
  directory: string
  /** Every refusal code and family of coded values that the catalogue declares. */
  codes: readonly Code[]
  families: ReadonlyMap<string, CodedFamily>
  codedOverrides?: CodedOverrides
}

type Say = (key: string, values?: Record<string, string>) => string

/** Stands for the field's name while a sentence is prepared; no text holds it. */
const gap = '\u0000'

const sayIn = (directory: string): ((locale: Locale) => Say) => {
  const i18n = i18next.createInstance({
    resources: Object.fromEntries(locales.map((locale) => [locale, { translation: readTexts(directory, locale) }])),
    lng: fallbackLocale,
    fallbackLng: fallbackLocale,
    supportedLngs: [...locales],
    // Or zh would stand in for zh-Hant.
    load: 'currentOnly',
    initAsync: false,
    keySeparator: false,
    nsSeparator: false,
    returnEmptyString: false,
    interpolation: { escapeValue: false },
  })
  void i18n.init()
  return (locale) => {
    const say = i18n.getFixedT(locale)
    return (key, values) => say(key, values ?? {})
  }
}

/** One language, with what every request needs worked out beforehand. */
const prepare = (say: Say, { codes, families, codedOverrides = {} }: WordsOptions) => {
  const sentences = new Map<string, string>()
  const named = new Map<string, readonly [before: string, after: string]>()
  for (const code of codes) {
    const plain = say(`refusal.${code}`)
    const [before = '', after] = say(`refusal.${code}`, { context: 'field', field: gap }).split(gap)
    sentences.set(code, plain)
    if (after !== undefined) named.set(code, [before, after])
  }
  return { say, sentences, named, coded: codedValues(families.values(), (key) => say(key), codedOverrides) }
}

/**
 * The texts of config/locales, every file read at once, so that none fails whoever first asks for its language. What a language
 * lacks is said in English. The others are worked out when somebody first asks for them, which takes longer than reading them.
 */
export const createWords = (options: WordsOptions): Words => {
  const sayFor = sayIn(options.directory)
  const languages = new Map([[fallbackLocale, prepare(sayFor(fallbackLocale), options)]])
  const language = (locale: Locale) => {
    const found = languages.get(locale) ?? prepare(sayFor(locale), options)
    languages.set(locale, found)
    return found
  }

  return {
    refusal: (code, locale, field) => {
      const { sentences, named } = language(locale)
      const frame = field === undefined ? undefined : named.get(code)
      return frame ? `${frame[0]}${field}${frame[1]}` : (sentences.get(code) ?? code)
    },
    coded: (family, code, locale) => {
      const value = language(locale).coded.get(`${family.name}.${code}`)
      if (!value) throw new RangeError(`${family.name} has no ${code}`)
      return value
    },
    text: (key, locale, values) => language(locale).say(key, values),
  }
}
