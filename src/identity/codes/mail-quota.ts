import { canonicalEmail, type Portal, rateLimited } from '../../kernel/index.ts'
import type { Cache } from '../../platform/cache/index.ts'
import type { KeyedDigest } from '../../platform/crypto/index.ts'
import type { WindowLimit } from '../settings.ts'

/** Counts mails to an address that may have no account. Only a digest of the address is stored. */
export const addressSubject = (digest: KeyedDigest, email: string): string =>
  Buffer.from(digest('mail-quota', canonicalEmail(email))).toString('base64url')

export interface MailToCount {
  portal: Portal
  /** An account id, or an `addressSubject`. */
  subject: string
  kind: 'code' | 'registration' | 'forgot'
  limit: WindowLimit
}

/**
 * Counts a mail. Throws ACCESS.RATE_LIMITED if the recipient has had too many of its kind. Call it before the account
 * is looked up, so that the refusal does not reveal whether it exists. Do not call inside a transaction: it would hold
 * the connection, and a retry would count twice.
 */
export const countMail = async (cache: Cache, { portal, subject, kind, limit: rule }: MailToCount): Promise<void> => {
  const { limit, windowMs } = rule
  const { count, remaining } = await cache.increment(`{mails:${portal}:${subject}}:${kind}`, windowMs)
  if (count <= limit) return
  throw rateLimited(remaining, `too many mails of kind ${kind}`, { name: `${kind}-mails`, limit, windowMs })
}
