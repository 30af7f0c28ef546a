import { accountStatus, type Locale, type Words } from '../../kernel/index.ts'
import { toMethodView } from '../mfa/view.ts'
import type { InitiatedLogin } from './initiate.ts'

export const toInitiatedLoginView = (
  words: Words,
  { sessionId, methods, expiresIn, accountStatus: status }: InitiatedLogin,
  locale: Locale,
) => ({
  sessionId,
  mfaMethods: methods.map((method) => toMethodView(words, method, locale)),
  expiresIn,
  accountStatus: status && words.coded(accountStatus, status, locale),
  pendingApproval: status === 'PENDING_APPROVAL',
})
