import type { Statements } from '../../database/index.ts'
import {
  type AccountId,
  canonicalEmail,
  type Instant,
  type Portal,
  type Randomness,
  type Refusal,
  rateLimited,
  type SessionId,
} from '../../kernel/index.ts'
import type { Cache } from '../../platform/cache/index.ts'
import type { KeyedDigest } from '../../platform/crypto/index.ts'
import type { WindowLimit } from '../settings.ts'
import { type CodeOwner, spendCode } from './store.ts'

const digits = 6

export function mintCode(randomness: Randomness): string {
  return randomness
    .integer(10 ** digits)
    .toString()
    .padStart(digits, '0')
}

export function codeDigest(digest: KeyedDigest, owner: CodeOwner, code: string): Uint8Array {
  return digest('one-time-code', ...digestedParts(owner, code))
}

/** Accepts codes of previous secret keys, too. */
export function spendPresentedCode(
  digest: KeyedDigest,
  owner: CodeOwner,
  code: string,
  now: Instant,
): Statements<boolean> {
  return spendCode(owner, digest.candidates('one-time-code', ...digestedParts(owner, code)), now)
}

export function maskEmail(email: string): string {
  const at = email.lastIndexOf('@')
  return `${email.slice(0, 1)}***${email.slice(at)}`
}

/** Returns the refusal for a code that is requested less than `resendMs` after the previous code. */
export function resendTooSoon(waitMs: number, internal: string, resendMs: number): Refusal {
  return rateLimited(waitMs, internal, { name: 'code-resend', limit: 1, windowMs: resendMs })
}

/**
 * Throws ACCESS.RATE_LIMITED. Call this before `countMail`.
 */
export function assertResendable(sentAt: Instant | null, now: Instant, resendMs: number): void {
  // Absolute, because the clock may have been set back.
  if (sentAt === null || Math.abs(now - sentAt) >= resendMs) return
  throw resendTooSoon(resendMs - (now - sentAt), 'the last code is too recent', resendMs)
}

/** Times are in seconds. */
export interface SentCode {
  maskedDestination: string
  expiresIn: number
  resendAfter: number
  attemptsRemaining: number
}

/** A digest, because the address may not have an account. */
export function addressSubject(digest: KeyedDigest, email: string): string {
  return Buffer.from(digest('mail-quota', canonicalEmail(email))).toString('base64url')
}

/** Emailed codes that strangers cannot use up: one to sign in, and one to repeat. */
export const reservedCodes = 2

export interface MailCount {
  portal: Portal
  /** An account id, or an `addressSubject`. */
  subject: string
  kind: 'code' | 'registration' | 'registration-daily' | 'forgot'
  limit: WindowLimit
  /** If set, a part of the limit is for known devices only. */
  mayUseReserve?: boolean
  /** Uses at most half of the limit, so that a stolen session leaves codes for the owner. */
  session?: SessionId
}

/** The account gets codes again, even if a thief has used up its limit. */
export async function forgetCodeMails(cache: Cache, { portal, id }: { portal: Portal; id: AccountId }): Promise<void> {
  const key = mailsKey({ portal, subject: id, kind: 'code' })
  await Promise.all([cache.delete(key), cache.delete(`${key}:reserve`)])
}

/**
 * Throws ACCESS.RATE_LIMITED. Call this before looking up the account, so that the refusal does not reveal whether the
 * account exists. Do not call it inside a transaction, which would hold its connection and count twice on a retry.
 */
export async function countMail(
  cache: Cache,
  { portal, subject, kind, limit: { limit, windowMs }, mayUseReserve, session }: MailCount,
): Promise<void> {
  const key = mailsKey({ portal, subject, kind })
  if (session !== undefined) {
    const share = Math.ceil(limit / 2)
    const { count, remaining } = await cache.increment(`${key}:session:${session}`, windowMs)
    if (count > share)
      throw rateLimited(remaining, `too many mails of kind ${kind} for one session`, {
        name: `${kind}-mails-session`,
        limit: share,
        windowMs,
      })
  }
  // At least one email stays available to unknown devices.
  const reserved = mayUseReserve === undefined ? 0 : Math.min(reservedCodes, limit - 1)
  if (mayUseReserve && reserved > 0 && (await cache.increment(`${key}:reserve`, windowMs)).count <= reserved) return
  const { count, remaining } = await cache.increment(key, windowMs)
  if (count <= limit - reserved) return
  throw rateLimited(remaining, `too many mails of kind ${kind}`, { name: `${kind}-mails`, limit, windowMs })
}

/** Includes the owner and the command, so that a code is valid for these only. */
function digestedParts({ portal, owner, purpose, confirms }: CodeOwner, code: string): string[] {
  return [portal, purpose, owner, code, ...(confirms === undefined ? [] : [confirms])]
}

function mailsKey({ portal, subject, kind }: Pick<MailCount, 'portal' | 'subject' | 'kind'>): string {
  return `{mails:${portal}:${subject}}:${kind}`
}
