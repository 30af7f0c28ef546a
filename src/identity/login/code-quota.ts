import { type Instant, type Portal, Refusal } from '../../kernel/index.ts'
import type { Cache } from '../../platform/cache/index.ts'
import type { Allowance } from '../settings.ts'

/** Whole seconds, at least one: what Retry-After and the replies speak in. */
export const wholeSeconds = (milliseconds: number): number => Math.max(1, Math.ceil(milliseconds / 1_000))

export const tooSoon = (waitMs: number, internal: string): Refusal =>
  new Refusal('ACCESS.RATE_LIMITED', { internal, retryAfter: wholeSeconds(waitMs) })

/** Refuses a second code so soon after the last one; asked before the quota, of which such a refusal costs nothing. */
export const requireResendable = (sentAt: Instant | null, now: Instant, resendMs: number): void => {
  const wait = sentAt === null ? 0 : resendMs - (now - sentAt)
  if (wait > 0) throw tooSoon(wait, 'a code was sent a moment ago')
}

export type MailQuota = (portal: Portal, subject: string) => Promise<void>

/**
 * Bounds the mails of one kind that one account or address gets, whoever asks for them and however often. Counted before
 * anything is looked up, so the refusal tells nothing of who has an account. Never to be asked within a transaction, which
 * would hold its connection meanwhile and, when a lost race is run again, ask twice.
 */
export const mailQuota =
  (cache: Cache, kind: string, allowanceAt: (portal: Portal) => Allowance): MailQuota =>
  async (portal, subject) => {
    const { limit, windowMs } = allowanceAt(portal)
    const { count, remaining } = await cache.increment(`{mails:${portal}:${subject}}:${kind}`, windowMs)
    if (count > limit) throw tooSoon(remaining, `too many mails of kind ${kind}`)
  }
