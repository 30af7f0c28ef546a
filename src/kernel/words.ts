import type { CodedFamily, CodedValue, CodeOf } from './coded.ts'
import type { Code } from './codes.ts'
import type { Locale } from './locale.ts'

/** Everything that is said to people, in their language (config/locales). */
export interface Words {
  /** The public sentence of a refusal, naming the field at fault where there is one. */
  refusal(code: Code, locale: Locale, field?: string): string
  coded<F extends CodedFamily>(family: F, code: CodeOf<F>, locale: Locale): CodedValue
  /** Any other text by its key, its {{placeholders}} filled. */
  text(key: string, locale: Locale, values?: Record<string, string>): string
}
