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

/** Returns six random digits. */
export const mintCode = (randomness: Randomness): string =>
  randomness
    .integer(10 ** digits)
    .toString()
    .padStart(digits, '0')

/** The digest that is stored. It covers the owner, so that a code is valid for its owner only. */
export const codeDigest = (digest: KeyedDigest, { portal, owner, purpose }: CodeOwner, code: string): Uint8Array =>
  digest('one-time-code', portal, purpose, owner, code)

/** The first character and the domain of an address. */
export const maskEmail = (email: string): string => {
  const at = email.lastIndexOf('@')
  return `${email.slice(0, 1)}***${email.slice(at)}`
}

/** The refusal of a code that is requested before `resendMs` have passed since the last one. */
export const resendTooSoon = (waitMs: number, internal: string, resendMs: number): Refusal =>
  rateLimited(waitMs, internal, { name: 'code-resend', limit: 1, windowMs: resendMs })

/** Throws ACCESS.RATE_LIMITED if the last code is too recent. Call it before the mail quota is counted. */
export const assertResendable = (sentAt: Instant | null, now: Instant, resendMs: number): void => {
  // The difference is absolute: after the clock was set back, `sentAt` can lie far in the future.
  if (sentAt === null || Math.abs(now - sentAt) >= resendMs) return
  throw resendTooSoon(resendMs - (now - sentAt), 'the last code is too recent', resendMs)
}

/** A code that was mailed, as the client sees it. Times in seconds. */
export interface SentCode {
  maskedDestination: string
  expiresIn: number
  resendAfter: number
  attemptsRemaining: number
}

/** Counts mails to an address that may have no account. Only a digest of the address is stored. */
export const addressSubject = (digest: KeyedDigest, email: string): string =>
  Buffer.from(digest('mail-quota', canonicalEmail(email))).toString('base64url')

export interface MailCount {
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
export const countMail = async (cache: Cache, { portal, subject, kind, limit: rule }: MailCount): Promise<void> => {
  const { limit, windowMs } = rule
  const { count, remaining } = await cache.increment(`{mails:${portal}:${subject}}:${kind}`, windowMs)
  if (count <= limit) return
  throw rateLimited(remaining, `too many mails of kind ${kind}`, { name: `${kind}-mails`, limit, windowMs })
}
