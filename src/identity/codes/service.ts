import {
  canonicalEmail,
  type Instant,
  type Portal,
  type Randomness,
  type Refusal,
  rateLimited,
} from '../../kernel/index.ts'
import type { Cache } from '../../platform/cache/index.ts'
import type { KeyedDigest } from '../../platform/crypto/index.ts'
import type { WindowLimit } from '../settings.ts'
import type { CodeOwner } from './store.ts'

const digits = 6

/** Returns a code of six random digits. */
export const mintCode = (randomness: Randomness): string =>
  randomness
    .integer(10 ** digits)
    .toString()
    .padStart(digits, '0')

/** Returns the stored digest of a code. It includes the owner, so that a code is valid for its owner only. */
export const codeDigest = (digest: KeyedDigest, { portal, owner, purpose }: CodeOwner, code: string): Uint8Array =>
  digest('one-time-code', portal, purpose, owner, code)

/** Masks an e-mail address: only its first character and its domain remain. */
export const maskEmail = (email: string): string => {
  const at = email.lastIndexOf('@')
  return `${email.slice(0, 1)}***${email.slice(at)}`
}

/** Returns the refusal of a request for a code within `resendMs` of the last one. */
export const resendTooSoon = (waitMs: number, internal: string, resendMs: number): Refusal =>
  rateLimited(waitMs, internal, { name: 'code-resend', limit: 1, windowMs: resendMs })

/** Throws ACCESS.RATE_LIMITED within `resendMs` of the last code. Call it before `countMail`. */
export const assertResendable = (sentAt: Instant | null, now: Instant, resendMs: number): void => {
  // The difference is absolute, because `sentAt` can be in the future after the clock was set back.
  if (sentAt === null || Math.abs(now - sentAt) >= resendMs) return
  throw resendTooSoon(resendMs - (now - sentAt), 'the last code is too recent', resendMs)
}

/** The response to a request for a mailed code. Times are in seconds. */
export interface SentCode {
  maskedDestination: string
  expiresIn: number
  resendAfter: number
  attemptsRemaining: number
}

/** Returns the subject that mails to an address are counted under. It is a digest, because the address may have no account. */
export const addressSubject = (digest: KeyedDigest, email: string): string =>
  Buffer.from(digest('mail-quota', canonicalEmail(email))).toString('base64url')

/** A mail to count, and its limit. */
export interface MailCount {
  portal: Portal
  /** An account id, or an `addressSubject`. */
  subject: string
  kind: 'code' | 'registration' | 'forgot'
  limit: WindowLimit
}

/**
 * Counts a mail. Throws ACCESS.RATE_LIMITED if the recipient exceeds the limit for its kind. Call it before the account is
 * looked up, so that the refusal does not reveal whether the account exists. Do not call it inside a transaction: it would
 * hold the connection, and a retry would count twice.
 */
export const countMail = async (cache: Cache, { portal, subject, kind, limit: rule }: MailCount): Promise<void> => {
  const { limit, windowMs } = rule
  const { count, remaining } = await cache.increment(`{mails:${portal}:${subject}}:${kind}`, windowMs)
  if (count <= limit) return
  throw rateLimited(remaining, `too many mails of kind ${kind}`, { name: `${kind}-mails`, limit, windowMs })
}
