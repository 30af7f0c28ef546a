import { type Locale, toIsoOrNull, type Words } from '../../kernel/index.ts'
import { type MfaMethod, mfaMethod } from './contract.ts'
import type { MfaEntry } from './service.ts'

export function toMethodView(words: Words, method: MfaMethod, locale: Locale) {
  return words.coded(mfaMethod, method, locale)
}

export function toMfaEntryView(words: Words, { method, verifiedAt, ...flags }: MfaEntry, locale: Locale) {
  return {
    mfaMethod: toMethodView(words, method, locale),
    ...flags,
    verifiedAt: toIsoOrNull(verifiedAt),
  }
}
