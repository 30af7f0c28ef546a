import { inTransaction, type Tx } from '../../database/index.ts'
import { Refusal, type RequestContext } from '../../kernel/index.ts'
import { actBy, recordRefusedAct } from '../../platform/audit/index.ts'
import type { Throttle } from '../login/throttle.ts'
import type { IdentityPorts } from '../ports.ts'
import type { OwnSession } from '../sessions/own-session.ts'

/** Tries a code of a session that is under way. `work` answers undefined for a wrong one, having changed nothing. */
export type TryCode = <T>(
  facts: RequestContext,
  session: OwnSession,
  work: (tx: Tx) => Promise<T | undefined>,
) => Promise<T>

/**
 * Every try is counted before it is looked at, per account and apart from the logins: whoever holds a stolen token can
 * neither guess on nor keep the owner out. A wrong code is AUTH.CODE_INVALID; too many are ACCESS.RATE_LIMITED.
 */
export const codeTrial = ({ database, clock }: IdentityPorts, throttle: Throttle): TryCode => {
  const recordFailure = (facts: RequestContext, { accountId, sessionId }: OwnSession) => {
    const told = { workspaceId: null, targetId: sessionId, detail: { reason: 'CODE_INVALID' } }
    return recordRefusedAct(database, actBy(accountId, facts, clock.now()), told)
  }

  return async (facts, session, work) => {
    const subject = throttle.factorSubject(session.portal, session.accountId)
    try {
      return await throttle.counted(subject, 'AUTH.CODE_INVALID', () =>
        inTransaction(database, async (tx) => {
          const done = await work(tx)
          if (done === undefined) throw new Refusal('AUTH.CODE_INVALID')
          await throttle.clear(tx, subject)
          return done
        }),
      )
    } catch (error) {
      if (error instanceof Refusal && error.code === 'AUTH.CODE_INVALID') await recordFailure(facts, session)
      throw error
    }
  }
}
