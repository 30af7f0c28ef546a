import { addMs, type Caller, type RequestContext, wholeMinutes, wholeSeconds } from '../../kernel/index.ts'
import { actOf, recordAct } from '../../platform/audit/index.ts'
import { ownAccount } from '../accounts/own-account.ts'
import { requireResendable, sentTooSoon } from '../login/code-resend.ts'
import { codeSentAt, renewCode } from '../login/code-store.ts'
import type { MailQuota } from '../login/mail-quota.ts'
import { codeDigest, maskEmail, mintCode } from '../login/one-time-code.ts'
import type { SentCode } from '../login/send-code.ts'
import type { Throttle } from '../login/throttle.ts'
import type { IdentityPorts } from '../ports.ts'
import type { Liveness } from '../sessions/liveness.ts'
import { type OwnSession, ownSession } from '../sessions/own-session.ts'
import { recordStepUp } from '../sessions/step-up-store.ts'
import type { IdentitySettings } from '../settings.ts'
import type { TryCode } from './attempts.ts'
import type { FactorProof, FactorProver } from './prove.ts'

type Request = RequestContext & { caller: Caller }

const codeOwner = ({ portal, sessionId }: OwnSession) => ({ portal, owner: sessionId, purpose: 'STEP_UP' }) as const

/** Mails a code for a step-up of the session that asks. A new code replaces the one before. */
export const stepUpSender =
  (ports: IdentityPorts, quota: MailQuota, throttle: Throttle, { codeTtlMs, resendMs }: IdentitySettings['login']) =>
  async (request: Request): Promise<SentCode> => {
    const { database, clock, digest, mailer, randomness } = ports
    const session = ownSession(request.caller)
    const account = await ownAccount(database, request.caller)
    const owner = codeOwner(session)
    const now = clock.now()
    const code = mintCode(randomness)
    const expiresAt = addMs(now, codeTtlMs)
    requireResendable(await codeSentAt(database, owner), now, resendMs)
    // Where it refuses, the code that was mailed before stays good.
    await quota(session.portal, session.accountId)
    if (!(await renewCode(database, owner, codeDigest(digest, owner, code), now, expiresAt, resendMs)))
      throw sentTooSoon(resendMs, 'a code is being sent at this moment', resendMs)
    const values = { code, minutes: String(wholeMinutes(codeTtlMs)) }
    await mailer.send({ to: account.email, template: 'step-up-code', locale: request.locale, values })
    return {
      maskedDestination: maskEmail(account.email),
      expiresIn: Math.floor(codeTtlMs / 1_000),
      resendAfter: wholeSeconds(resendMs),
      attemptsRemaining: await throttle.remaining(throttle.factorSubject(session.portal, session.accountId)),
    }
  }

interface Parts {
  ports: IdentityPorts
  prove: FactorProver
  tryCode: TryCode
  liveness: Liveness
}

/** Proves a second factor again; the session has then stepped up, for a while. */
export const stepUp =
  ({ ports: { clock }, prove, tryCode, liveness }: Parts) =>
  async (request: Request, proof: FactorProof): Promise<void> => {
    const session = ownSession(request.caller)
    await tryCode(request, session, async (tx) => {
      const now = clock.now()
      const { portal, accountId, sessionId } = session
      if (!(await prove(tx, { portal, accountId, code: codeOwner(session) }, proof, request, now))) return undefined
      await recordStepUp(tx, session, now)
      await recordAct(tx, actOf(request), { workspaceId: null, targetId: sessionId, detail: { method: proof.method } })
      return true
    })
    liveness.forget(session.sessionId)
  }
