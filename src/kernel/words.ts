import type { CodedFamily, CodedValue } from './coded.ts'
import type { Code } from './codes.ts'
import type { Locale } from './locale.ts'

/** Every text that people read, in their language (config/locales). */
export interface Words {
  /** The public sentence of a refusal; it names the invalid field where there is one. */
  refusal(code: Code, locale: Locale, field?: string): string
  /** A coded value with its label and description. Throws RangeError for a code that is not in the family. */
  coded<C extends string>(family: CodedFamily<C>, code: C, locale: Locale): CodedValue
  /** Any other text by its key, with its {{placeholders}} filled. */
  text(key: string, locale: Locale, values?: Record<string, string>): string
}
