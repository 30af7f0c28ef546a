import { inTransaction, type Tx } from '../../database/index.ts'
import { Refusal, type RequestContext } from '../../kernel/index.ts'
import { recordRefusal, unauthenticatedAuditContext } from '../../platform/audit/index.ts'
import type { OwnSession } from '../sessions/rules.ts'
import type { MfaPorts } from './service.ts'

/**
 * Verifies a code of a signed-in session. `verify` returns undefined for a wrong code and has then changed nothing. Every
 * try is counted in advance, per account and apart from sign-ins, so that a stolen token allows neither guessing nor
 * locking the owner out. Throws AUTH.CODE_INVALID or ACCESS.RATE_LIMITED.
 */
export const verifyCode = async <T>(
  { database, clock, lockout }: MfaPorts,
  session: OwnSession,
  context: RequestContext,
  verify: (tx: Tx) => Promise<T | undefined>,
): Promise<T> => {
  const subject = lockout.factorSubject(session.portal, session.accountId)
  try {
    return await lockout.countIfRefused(subject, 'AUTH.CODE_INVALID', () =>
      inTransaction(database, async (tx) => {
        const result = await verify(tx)
        if (result === undefined) throw new Refusal('AUTH.CODE_INVALID')
        await lockout.clear(tx, subject)
        return result
      }),
    )
  } catch (error) {
    if (error instanceof Refusal && error.code === 'AUTH.CODE_INVALID') {
      const event = { workspaceId: null, targetId: session.sessionId, detail: { reason: 'CODE_INVALID' } }
      await recordRefusal(database, unauthenticatedAuditContext(session.accountId, context, clock.now()), event)
    }
    throw error
  }
}
