import type { Database } from '../../database/index.ts'
import { addMs, type Instant, wholeMinutes, wholeSeconds } from '../../kernel/index.ts'
import { auditContextOf, recordSuccess } from '../../platform/audit/index.ts'
import { ownAccount } from '../accounts/service.ts'
import type { Account } from '../accounts/store.ts'
import {
  assertResendable,
  codeDigest,
  countMail,
  maskEmail,
  mintCode,
  resendTooSoon,
  type SentCode,
} from '../codes/service.ts'
import { type CodeOwner, readCodeSentAt, renewCode } from '../codes/store.ts'
import type { Lockout } from '../lockout/service.ts'
import type { CallerContext } from '../ports.ts'
import { recordStepUp } from '../sessions/activity-store.ts'
import { assertSession, type OwnSession } from '../sessions/rules.ts'
import type { SessionPorts } from '../sessions/service.ts'
import type { IdentitySettings } from '../settings.ts'
import type { MfaMethod } from './contract.ts'
import { readBackupCodeCounts, readOtp } from './store.ts'
import { type PresentedFactor, verifyCode, verifyFactor } from './verify.ts'

/** The ports of second factors. */
export interface MfaPorts extends SessionPorts {
  settings: IdentitySettings
  lockout: Lockout
}

/** A second factor of an account. */
export interface MfaEntry {
  method: MfaMethod
  isEnabled: boolean
  isPrimary: boolean
  verifiedAt: Instant | null
}

/** Returns every method, enabled or not. E-mail is always enabled; an active authenticator is the primary method. */
export const listMfaMethods = async (
  database: Database,
  { portal, id, emailVerifiedAt }: Pick<Account, 'portal' | 'id' | 'emailVerifiedAt'>,
): Promise<MfaEntry[]> => {
  const otp = await readOtp(database, portal, id)
  const backup = await readBackupCodeCounts(database, portal, id)
  const hasOtp = Boolean(otp?.secret)
  const hasCodes = backup.remainingCount > 0
  return [
    { method: 'EMAIL', isEnabled: true, isPrimary: !hasOtp, verifiedAt: emailVerifiedAt },
    { method: 'OTP', isEnabled: hasOtp, isPrimary: hasOtp, verifiedAt: otp?.verifiedAt ?? null },
    { method: 'BACKUP_CODE', isEnabled: hasCodes, isPrimary: false, verifiedAt: backup.generatedAt },
  ]
}

/** Returns the methods that can complete a sign-in. */
export const listEnabledMethods = async (database: Database, account: Account): Promise<MfaMethod[]> =>
  (await listMfaMethods(database, account)).filter(({ isEnabled }) => isEnabled).map(({ method }) => method)

/** Returns the owner of the code that is mailed for a step-up of a session. */
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
  // Count the mail before replacing the code, so that the previous code stays valid if the quota is exhausted.
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

/** Verifies a second factor and records the step-up of the session. Throws the refusals of `verifyCode`. */
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
