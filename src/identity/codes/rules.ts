import { type Instant, type Randomness, type Refusal, rateLimited } from '../../kernel/index.ts'
import type { KeyedDigest } from '../../platform/crypto/index.ts'
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
