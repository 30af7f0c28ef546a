import { Refusal, type RequestFacts } from '../../kernel/index.ts'
import { actBy, recordRefusedAct } from '../../platform/audit/index.ts'
import { inTransaction } from '../../platform/database/index.ts'
import { spendCode } from '../login/code-store.ts'
import { countAttempt } from '../login/login-session-store.ts'
import { codeDigest } from '../login/one-time-code.ts'
import type { IdentityPorts } from '../ports.ts'
import { sessionNotFound } from '../session-not-found.ts'
import type { IdentitySettings } from '../settings.ts'
import { findRegistration, openRegistration } from './live-registration.ts'
import { recordVerifiedEmail } from './store.ts'

/** Proves the ownership of the address by the mailed code. Every attempt is counted before it is looked at. */
export const emailVerifier =
  (ports: IdentityPorts, portals: IdentitySettings['portals']) =>
  async (facts: RequestFacts, sessionId: string, code: string): Promise<void> => {
    const { database, clock, digest } = ports
    const { portal } = facts
    openRegistration(portals, portal)
    const now = clock.now()
    const registration = await findRegistration(ports, facts, sessionId, now)
    if (!(await countAttempt(database, portal, registration.digest, now))) throw sessionNotFound('no attempt is left')
    const proved = await inTransaction(database, async (tx) => {
      if (!(await spendCode(tx, registration.code, codeDigest(digest, registration.code, code), now))) return false
      return recordVerifiedEmail(tx, portal, registration.digest, now)
    })
    if (proved) return
    const told = { workspaceId: null, targetId: null, detail: { reason: 'CODE_INVALID' } }
    await recordRefusedAct(database, actBy(null, facts, now), told)
    throw new Refusal('AUTH.CODE_INVALID')
  }
