import { inTransaction } from '../../database/index.ts'
import { Refusal, type RequestContext } from '../../kernel/index.ts'
import { actBy, recordRefusedAct } from '../../platform/audit/index.ts'
import { spendCode } from '../login/code-store.ts'
import { countAttempt, recordVerifiedEmail } from '../login/login-session-store.ts'
import { codeDigest } from '../login/one-time-code.ts'
import type { Throttle } from '../login/throttle.ts'
import type { IdentityPorts } from '../ports.ts'
import { sessionNotFound } from '../session-not-found.ts'
import type { IdentitySettings } from '../settings.ts'
import { findRegistration, type LiveRegistration, openRegistration } from './live-registration.ts'

/**
 * Proves the ownership of the address by the mailed code. Every attempt is counted before it is looked at, of the registration
 * and of the address: another registration does not start the count afresh.
 */
export const emailVerifier = (ports: IdentityPorts, throttle: Throttle, portals: IdentitySettings['portals']) => {
  const { database, clock, digest } = ports

  const prove = async (
    { portal }: RequestContext,
    { email, code: owner, digest: session }: LiveRegistration,
    code: string,
  ): Promise<void> => {
    const subject = throttle.registrationSubject(portal, email)
    const now = clock.now()
    await throttle.counted(subject, 'AUTH.CODE_INVALID', async () => {
      if (!(await countAttempt(database, portal, session, now))) throw sessionNotFound('no attempt is left')
      await inTransaction(database, async (tx) => {
        const isRight = await spendCode(tx, owner, codeDigest(digest, owner, code), now)
        if (!isRight || !(await recordVerifiedEmail(tx, portal, session, now))) throw new Refusal('AUTH.CODE_INVALID')
        await throttle.clear(tx, subject)
      })
    })
  }

  return async (facts: RequestContext, sessionId: string, code: string): Promise<void> => {
    openRegistration(portals, facts.portal)
    const registration = await findRegistration(ports, facts, sessionId, clock.now())
    try {
      await prove(facts, registration, code)
    } catch (error) {
      if (error instanceof Refusal && error.code === 'AUTH.CODE_INVALID') {
        const told = { workspaceId: null, targetId: null, detail: { reason: 'CODE_INVALID' } }
        await recordRefusedAct(database, actBy(null, facts, clock.now()), told)
      }
      throw error
    }
  }
}
