import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import i18next, { type i18n as I18n } from 'i18next'
import { load } from 'js-yaml'
import {
  type Code,
  type CodedFamily,
  type CodedValue,
  type DeclarationError,
  DeclarationErrors,
  fallbackLocale,
  type Locale,
  locales,
  messageOf,
  type Words,
} from '../../kernel/index.ts'

/** By full key, such as `coded.roleType.OWNER.label`. */
export type Texts = Record<string, string>

/** Keys are flat, because codes contain dots and colons. */
export function readTexts(directory: string, locale: Locale): Texts {
  const file = join(directory, `${locale}.yaml`)
  try {
    return flatten(load(readFileSync(file, 'utf8')))
  } catch (cause) {
    // The other lines quote the file.
    throw new Error(`the texts of ${file} cannot be read: ${messageOf(cause).split('\n', 1)}`, { cause })
  }
}

/** By family and code. */
export type CodedOverrides = Readonly<Record<string, Readonly<Record<string, number>>>>

export interface ExtensionTexts {
  owner: string
  /** Contains `<locale>.yaml`. Only English is required. */
  directory?: string | undefined
  /** By language and key, as an alternative. */
  texts?: Readonly<Record<string, unknown>> | undefined
  requiredKeys?: readonly string[]
}

export interface WordsOptions {
  /** Each contains `<locale>.yaml` for each language. */
  directories: readonly string[]
  extensions?: readonly ExtensionTexts[]
  codes: readonly Code[]
  families: ReadonlyMap<string, CodedFamily>
  codedOverrides?: CodedOverrides
  /** Texts of the configuration, for every language. */
  addedTexts?: Readonly<Record<string, string>>
}

/** No text contains this character. */
const fieldPlaceholder = '\u0000'

/**
 * Reads all files at startup, so that an invalid file prevents startup. Throws DeclarationErrors for the texts of
 * extensions. Missing texts fall back to English. Other languages are prepared on first use, because that is
 * slow.
 */
export function createWords(options: WordsOptions): Words {
  const i18n = loadTranslations(options)
  const languages = new Map([[fallbackLocale, prepare(i18n, fallbackLocale, options)]])
  const prepared = (locale: Locale) => {
    const language = languages.get(locale) ?? prepare(i18n, locale, options)
    languages.set(locale, language)
    return language
  }

  return {
    refusal: (code, locale, field) => {
      const { sentences, withField } = prepared(locale)
      const frame = field === undefined ? undefined : withField.get(code)
      return frame ? `${frame[0]}${field}${frame[1]}` : (sentences.get(code) ?? code)
    },
    coded: (family, code, locale) => {
      const value = prepared(locale).coded.get(`${family.name}.${code}`)
      if (!value) throw new RangeError(`${family.name} has no ${code}`)
      return value
    },
    findCoded: (family, code, locale) => prepared(locale).coded.get(`${family.name}.${code}`),
    text: (key, locale, values) => prepared(locale).translate(key, values),
  }
}

function flatten(node: unknown, key = '', into: Texts = {}): Texts {
  if (typeof node === 'string') into[key] = node
  else if (typeof node !== 'object' || node === null)
    throw new TypeError(`${key || 'the file'} is not a text; quote it or nest texts below it`)
  else for (const [name, child] of Object.entries(node)) flatten(child, key === '' ? name : `${key}.${name}`, into)
  return into
}

function loadTranslations(options: WordsOptions): I18n {
  const errors: DeclarationError[] = []
  const i18n = i18next.createInstance({
    resources: Object.fromEntries(
      locales.map((locale) => [locale, { translation: joinTexts(options, locale, errors) }]),
    ),
    lng: fallbackLocale,
    fallbackLng: fallbackLocale,
    supportedLngs: [...locales],
    // Otherwise, texts that are missing in zh-Hant would be taken from zh.
    load: 'currentOnly',
    initAsync: false,
    keySeparator: false,
    nsSeparator: false,
    returnEmptyString: false,
    interpolation: { escapeValue: false },
  })
  void i18n.init()
  for (const { owner, requiredKeys = [] } of options.extensions ?? [])
    for (const key of requiredKeys)
      if (!i18n.exists(key)) errors.push({ owner, message: `${key} has no text; add it to the texts` })
  if (errors.length > 0) throw new DeclarationErrors(errors)
  return i18n
}

function joinTexts(
  { directories, extensions = [], addedTexts }: WordsOptions,
  locale: Locale,
  errors: DeclarationError[],
): Texts {
  const all: Texts = Object.assign({}, ...directories.map((directory) => readTexts(directory, locale)), addedTexts)
  for (const extension of extensions) {
    const { own, place } = readExtension(extension, locale)
    // Gateways can exchange their texts in documents, so a text can be declared twice if it is the same.
    for (const [key, text] of Object.entries(own))
      if (Object.hasOwn(all, key) && all[key] !== text)
        errors.push({
          owner: extension.owner,
          message: `${place}declares the text ${key}, which exists already; remove it`,
        })
      else all[key] = text
  }
  return all
}

function readExtension({ directory, texts = {} }: ExtensionTexts, locale: Locale): { own: Texts; place: string } {
  if (directory === undefined) return { own: flatten(texts[locale] ?? {}), place: '' }
  const file = join(directory, `${locale}.yaml`)
  const isRead = locale === fallbackLocale || existsSync(file)
  return { own: isRead ? readTexts(directory, locale) : {}, place: `locales: ${file} ` }
}

function prepare(i18n: I18n, locale: Locale, { codes, families, codedOverrides = {} }: WordsOptions) {
  const fixed = i18n.getFixedT(locale)
  const translate = (key: string, values: Record<string, string> = {}): string => fixed(key, values)
  const sentences = new Map<string, string>()
  const withField = new Map<string, readonly [before: string, after: string]>()
  for (const code of codes) {
    const plain = translate(`refusal.${code}`)
    const [before = '', after] = translate(`refusal.${code}`, { context: 'field', field: fieldPlaceholder }).split(
      fieldPlaceholder,
    )
    sentences.set(code, plain)
    if (after !== undefined) withField.set(code, [before, after])
  }
  return {
    translate,
    sentences,
    withField,
    coded: codedValues(families.values(), (key) => translate(key), codedOverrides),
  }
}

/** The values are frozen, because all responses share them. */
function codedValues(
  families: Iterable<CodedFamily>,
  textOf: (key: string) => string,
  overrides: CodedOverrides,
): ReadonlyMap<string, CodedValue> {
  const result = new Map<string, CodedValue>()
  for (const { name, values } of families) {
    for (const [code, number] of Object.entries(values)) {
      const key = `${name}.${code}`
      const text = { label: textOf(`coded.${key}.label`), description: textOf(`coded.${key}.description`) }
      result.set(key, Object.freeze({ code, value: overrides[name]?.[code] ?? number, ...text }))
    }
  }
  return result
}
