import { inTransaction } from '../../database/index.ts'
import type { Caller, RequestContext } from '../../kernel/index.ts'
import { actOf, recordAct } from '../../platform/audit/index.ts'
import type { IdentityPorts } from '../ports.ts'
import type { Liveness } from './liveness.ts'
import { ownSession } from './own-session.ts'
import { endSession } from './store.ts'

/** Ends the caller's own session; answers how many that ended, 0 where another call was faster. */
export const logout =
  ({ database, clock }: IdentityPorts, liveness: Liveness) =>
  async (request: RequestContext & { caller: Caller }): Promise<number> => {
    const { portal, accountId, sessionId } = ownSession(request.caller)
    const ended = await inTransaction(database, async (tx) => {
      const open = await endSession(tx, { portal, accountId, id: sessionId }, 'LOGOUT', clock.now())
      if (open) await recordAct(tx, actOf(request), { workspaceId: null, targetId: sessionId })
      return open
    })
    liveness.forget(sessionId)
    return ended ? 1 : 0
  }
