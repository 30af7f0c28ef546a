import { inTransaction } from '../../database/index.ts'
import { addMs, type Instant, invalid, type RequestContext, wholeMinutes, wholeSeconds } from '../../kernel/index.ts'
import { claimCodeSending } from '../attempts/store.ts'
import { countMail } from '../codes/mail-quota.ts'
import { assertResendable, codeDigest, maskEmail, mintCode, resendTooSoon, type SentCode } from '../codes/rules.ts'
import { replaceCode } from '../codes/store.ts'
import { findLogin, type LoginPorts, type PendingLogin } from './login-attempt.ts'

/** Claims the sending and stores the code in one transaction, so that only the last code is valid. Returns its lifetime. */
const storeCode = async (
  { database, digest, settings }: LoginPorts,
  { digest: attemptDigest, code: owner, attempt }: PendingLogin,
  code: string,
  now: Instant,
): Promise<number> => {
  const { codeTtlMs, resendMs } = settings.login
  const expiresAt = addMs(now, Math.min(codeTtlMs, attempt.expiresAt - now))
  const claimed = await inTransaction(database, async (tx) => {
    const isClaimed = await claimCodeSending(tx, owner.portal, attemptDigest, now, resendMs)
    if (isClaimed) await replaceCode(tx, owner, codeDigest(digest, owner, code), now, expiresAt)
    return isClaimed
  })
  if (!claimed) throw resendTooSoon(resendMs, 'a concurrent request sends a code', resendMs)
  return expiresAt - now
}

/** Finds the sign-in and stores a code for it. */
const issueCode = async (
  ports: LoginPorts,
  sessionId: string,
  code: string,
  context: RequestContext,
): Promise<{ login: PendingLogin; ttlMs: number }> => {
  const { cache, clock, settings } = ports
  const { portal } = context
  const now = clock.now()
  const login = await findLogin(ports, sessionId, context, now)
  assertResendable(login.attempt.codeSentAt, now, settings.login.resendMs)
  // Counted before the code is replaced: if the quota is exhausted, the previous code stays valid.
  const limit = settings.portals[portal].codeSends
  await countMail(cache, { portal, subject: login.account.id, kind: 'code', limit })
  return { login, ttlMs: await storeCode(ports, login, code, now) }
}

/** Mails a code for a pending sign-in. It replaces the previous code. Throws ACCESS.RATE_LIMITED. */
export const sendLoginCode = async (
  ports: LoginPorts,
  { sessionId, method }: { sessionId: string; method: string },
  context: RequestContext,
): Promise<SentCode> => {
  if (method !== 'EMAIL') throw invalid('mfaMethod')
  const code = mintCode(ports.randomness)
  // Sending the mail does not count towards the concurrency limit.
  const { login, ttlMs } = await ports.concurrency.laterSteps.runLimited(() =>
    issueCode(ports, sessionId, code, context),
  )
  await ports.mailer.send({
    to: login.account.email,
    template: 'login-code',
    locale: context.locale,
    values: { code, minutes: String(wholeMinutes(ttlMs)) },
  })
  return {
    maskedDestination: maskEmail(login.account.email),
    expiresIn: Math.floor(ttlMs / 1_000),
    resendAfter: wholeSeconds(ports.settings.login.resendMs),
    attemptsRemaining: login.attempt.triesLeft,
  }
}
