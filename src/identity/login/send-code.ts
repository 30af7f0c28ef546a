import { inTransaction } from '../../database/index.ts'
import {
  addMs,
  type Instant,
  invalid,
  type RequestContext,
  type RunLimited,
  wholeMinutes,
  wholeSeconds,
} from '../../kernel/index.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { requireResendable, sentTooSoon } from './code-resend.ts'
import { replaceCode } from './code-store.ts'
import { findLogin, type LiveLogin } from './live-login.ts'
import { claimCodeSending } from './login-session-store.ts'
import type { MailQuota } from './mail-quota.ts'
import { codeDigest, maskEmail, mintCode } from './one-time-code.ts'

/** What the sending of a code answers; times in seconds. */
export interface SentCode {
  maskedDestination: string
  expiresIn: number
  resendAfter: number
  attemptsRemaining: number
}

/** Mails a code for a login under way. A new code replaces the one before. */
export const codeSender = (
  ports: IdentityPorts,
  inTurn: RunLimited,
  quota: MailQuota,
  settings: IdentitySettings['login'],
) => {
  const { database, clock, digest, mailer, randomness } = ports

  /** Claims the sending and keeps the code in one transaction, so that only the last code sent counts. */
  const putCode = async ({ digest: login, code: owner, session }: LiveLogin, code: string, now: Instant) => {
    const expiresAt = addMs(now, Math.min(settings.codeTtlMs, session.expiresAt - now))
    const claimed = await inTransaction(database, async (tx) => {
      const due = await claimCodeSending(tx, owner.portal, login, now, settings.resendMs)
      if (due) await replaceCode(tx, owner, codeDigest(digest, owner, code), now, expiresAt)
      return due
    })
    if (!claimed) throw sentTooSoon(settings.resendMs, 'a code is being sent at this moment', settings.resendMs)
    return expiresAt - now
  }

  return async (facts: RequestContext, sessionId: string, method: string): Promise<SentCode> => {
    if (method !== 'EMAIL') throw invalid('mfaMethod')
    const code = mintCode(randomness)
    const { login, goodFor } = await inTurn(async () => {
      const now = clock.now()
      const login = await findLogin(ports, facts, sessionId, now)
      requireResendable(login.session.codeSentAt, now, settings.resendMs)
      // Where it refuses, the code that was mailed before stays good.
      await quota(facts.portal, login.account.id)
      const goodFor = await putCode(login, code, now)
      return { login, goodFor }
    })
    await mailer.send({
      to: login.account.email,
      template: 'login-code',
      locale: facts.locale,
      values: { code, minutes: String(wholeMinutes(goodFor)) },
    })
    return {
      maskedDestination: maskEmail(login.account.email),
      expiresIn: Math.floor(goodFor / 1_000),
      resendAfter: wholeSeconds(settings.resendMs),
      attemptsRemaining: login.session.attemptsLeft,
    }
  }
}
