import { createInstance } from 'i18next'

export type Locale = 'en' | 'zh' | 'zh-Hant' | 'ja' | 'vi'

/** Names in their own languages, for the menu. */
export const locales: Readonly<Record<Locale, string>> = {
  en: 'English',
  zh: '简体中文',
  'zh-Hant': '繁體中文',
  ja: '日本語',
  vi: 'Tiếng Việt',
}

const loaders: Readonly<Record<Locale, () => Promise<{ default: Readonly<Record<string, string>> }>>> = {
  en: () => import('texts:en'),
  zh: () => import('texts:zh'),
  'zh-Hant': () => import('texts:zh-Hant'),
  ja: () => import('texts:ja'),
  vi: () => import('texts:vi'),
}

const storageKey = 'portico.locale'
// React escapes texts. Keys contain dots.
const i18n = createInstance({ keySeparator: false, nsSeparator: false, interpolation: { escapeValue: false } })

/** The choice of the user, or the first known language of the browser, or English. */
export const locale: Locale = chosenLocale() ?? navigator.languages.map(localeOf).find((each) => each !== null) ?? 'en'

/** Loads the texts. Call it before the first `t`. */
export async function loadTexts(): Promise<void> {
  const { default: texts } = await loaders[locale]()
  await i18n.init({ lng: locale, resources: { [locale]: { translation: texts } } })
  document.documentElement.lang = locale
}

/** The text with this key in the language of the page. `count` selects `key_one` or `key_other`. */
export function t(key: string, values: Record<string, string | number> = {}): string {
  return i18n.t(key, values)
}

/** The name of a permission in the language of the page. The code, for permissions of extensions. */
export function permissionName(code: string): string {
  const key = `permission.${code}`
  const name = t(key)
  return name === key ? code : name
}

/** Remembers the language, and loads the page in it. */
export function setLocale(next: Locale): void {
  localStorage.setItem(storageKey, next)
  location.reload()
}

function chosenLocale(): Locale | null {
  const stored = localStorage.getItem(storageKey)
  return stored !== null && isLocale(stored) ? stored : null
}

/** Of a language tag (RFC 5646). Traditional characters are used in Taiwan, Hong Kong and Macao. */
function localeOf(tag: string): Locale | null {
  const { language, script, region } = new Intl.Locale(tag).maximize()
  if (language === 'zh') return script === 'Hant' || region === 'TW' ? 'zh-Hant' : 'zh'
  return isLocale(language) ? language : null
}

export function isLocale(text: string): text is Locale {
  return Object.hasOwn(locales, text)
}
