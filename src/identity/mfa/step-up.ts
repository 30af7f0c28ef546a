import { addMs, wholeMinutes, wholeSeconds } from '../../kernel/index.ts'

import { auditContextOf, recordSuccess } from '../../platform/audit/index.ts'
import { ownAccount } from '../accounts/service.ts'
import { countMail } from '../codes/mail-quota.ts'
import { assertResendable, codeDigest, maskEmail, mintCode, resendTooSoon, type SentCode } from '../codes/rules.ts'
import { type CodeOwner, readCodeSentAt, renewCode } from '../codes/store.ts'
import type { CallerContext } from '../ports.ts'
import { recordStepUp } from '../sessions/activity-store.ts'
import { assertSession, type OwnSession } from '../sessions/rules.ts'
import type { MfaPorts } from './service.ts'
import { verifyCode } from './verify-code.ts'
import { type PresentedFactor, verifyFactor } from './verify-factor.ts'

/** The owner of the code that is mailed for a step-up of a session. */
export const stepUpCodeOwner = ({ portal, sessionId }: OwnSession): CodeOwner => ({
  portal,
  owner: sessionId,
  purpose: 'STEP_UP',
})

/** Mails a code for a step-up. It replaces the previous code. Throws ACCESS.RATE_LIMITED. */
export const sendStepUpCode = async (ports: MfaPorts, context: CallerContext): Promise<SentCode> => {
  const { cache, clock, database, digest, lockout, mailer, randomness, settings } = ports
  const { codeTtlMs, resendMs } = settings.login
  const session = assertSession(context.caller)
  const { portal, accountId } = session
  const account = await ownAccount(database, context.caller)
  const owner = stepUpCodeOwner(session)
  const now = clock.now()
  const code = mintCode(randomness)
  const expiresAt = addMs(now, codeTtlMs)
  assertResendable(await readCodeSentAt(database, owner), now, resendMs)
  // Counted before the code is replaced: if the quota is exhausted, the previous code stays valid.
  await countMail(cache, { portal, subject: accountId, kind: 'code', limit: settings.portals[portal].codeSends })
  if (!(await renewCode(database, owner, codeDigest(digest, owner, code), now, expiresAt, resendMs)))
    throw resendTooSoon(resendMs, 'a concurrent request sends a code', resendMs)
  const values = { code, minutes: String(wholeMinutes(codeTtlMs)) }
  await mailer.send({ to: account.email, template: 'step-up-code', locale: context.locale, values })
  return {
    maskedDestination: maskEmail(account.email),
    expiresIn: Math.floor(codeTtlMs / 1_000),
    resendAfter: wholeSeconds(resendMs),
    attemptsRemaining: await lockout.remainingFailures(lockout.factorSubject(portal, accountId)),
  }
}

/** Verifies a second factor again and records the step-up of the session. */
export const stepUp = async (ports: MfaPorts, factor: PresentedFactor, context: CallerContext): Promise<void> => {
  const session = assertSession(context.caller)
  const { portal, accountId, sessionId } = session
  const owner = { portal, accountId, code: stepUpCodeOwner(session) }
  await verifyCode(ports, session, context, async (tx) => {
    const now = ports.clock.now()
    if (!(await verifyFactor(ports, tx, owner, factor, context, now))) return undefined
    await recordStepUp(tx, session, now)
    await recordSuccess(tx, auditContextOf(context), {
      workspaceId: null,
      targetId: sessionId,
      detail: { method: factor.method },
    })
    return true
  })
  ports.sessionCache.invalidate(sessionId)
}
