import { type Locale, toIsoOrNull, type Words } from '../../kernel/index.ts'
import { type MfaMethod, mfaMethod } from './contract.ts'
import type { MfaEntry } from './service.ts'

/** Returns the coded value of a method with its label. */
export const toMethodView = (words: Words, method: MfaMethod, locale: Locale) => words.coded(mfaMethod, method, locale)

/** Returns a second factor as clients see it. */
export const toMfaEntryView = (words: Words, { method, verifiedAt, ...flags }: MfaEntry, locale: Locale) => ({
  mfaMethod: toMethodView(words, method, locale),
  ...flags,
  verifiedAt: toIsoOrNull(verifiedAt),
})
