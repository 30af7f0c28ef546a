import { type Locale, toIsoOrNull, type Words } from '../../kernel/index.ts'
import { type MfaMethod, mfaMethod } from './contract.ts'
import type { MfaEntry } from './service.ts'

export const toMethodView = (words: Words, method: MfaMethod, locale: Locale) => words.coded(mfaMethod, method, locale)

export const toMfaEntryView = (words: Words, { method, verifiedAt, ...flags }: MfaEntry, locale: Locale) => ({
  mfaMethod: toMethodView(words, method, locale),
  ...flags,
  verifiedAt: toIsoOrNull(verifiedAt),
})
