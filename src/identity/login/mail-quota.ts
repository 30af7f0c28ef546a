import { canonicalEmail, type Portal, rateLimited } from '../../kernel/index.ts'
import type { Cache } from '../../platform/cache/index.ts'
import type { KeyedDigest } from '../../platform/crypto/index.ts'
import type { Allowance } from '../settings.ts'

/** An address as a quota counts it, where whoever asks has not shown that it is an account's: it is kept as a digest. */
export const addressSubject = (digest: KeyedDigest, email: string): string =>
  Buffer.from(digest('mail-quota', canonicalEmail(email))).toString('base64url')

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
    if (count <= limit) return
    throw rateLimited(remaining, `too many mails of kind ${kind}`, { name: `${kind}-mails`, limit, windowMs })
  }
