import { inTransaction } from '../../database/index.ts'
import { bizId, type Caller, isBizId, notFound, type RequestContext } from '../../kernel/index.ts'
import { actOf, recordAct } from '../../platform/audit/index.ts'
import { lockAccount } from '../accounts/store.ts'
import type { IdentityPorts } from '../ports.ts'
import { endOldestSessions } from './bound-store.ts'
import type { Liveness } from './liveness.ts'
import { ownSession } from './own-session.ts'
import { endSession } from './store.ts'

type Request = RequestContext & { caller: Caller }

/** Ends one of the caller's sessions, its current one too. Another account's is as unknown as one that never was. */
export const sessionTerminator =
  ({ database, clock }: IdentityPorts, liveness: Liveness) =>
  async (request: Request, sessionId: string): Promise<void> => {
    const { portal, accountId } = ownSession(request.caller)
    if (!isBizId(sessionId)) throw notFound('no session id')
    const id = bizId<'session'>(sessionId)
    const ended = await inTransaction(database, async (tx) => {
      const open = await endSession(tx, { portal, accountId, id }, 'TERMINATED', clock.now())
      if (open) await recordAct(tx, actOf(request), { workspaceId: null, targetId: id })
      return open
    })
    if (!ended) throw notFound('no open session of this account')
    liveness.forget(id)
  }

/** Ends every session of the caller's account but the one that asks; answers how many. */
export const otherSessionsTerminator =
  ({ database, clock }: IdentityPorts, liveness: Liveness) =>
  async (request: Request): Promise<number> => {
    const { portal, accountId, sessionId } = ownSession(request.caller)
    const ended = await inTransaction(database, async (tx) => {
      await lockAccount(tx, portal, accountId)
      const ending = { portal, accountId, keep: 0, except: sessionId, reason: 'TERMINATED' } as const
      const sessions = await endOldestSessions(tx, ending, clock.now())
      const detail = { sessions: sessions.length }
      await recordAct(tx, actOf(request), { workspaceId: null, targetId: accountId, detail })
      return sessions
    })
    for (const id of ended) liveness.forget(id)
    return ended.length
  }
