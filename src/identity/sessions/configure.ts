import { type Database, inTransaction, type Tx } from '../../database/index.ts'
import { type Caller, Refusal, type RequestContext } from '../../kernel/index.ts'
import { actOf, recordAct } from '../../platform/audit/index.ts'
import { lockAccount } from '../accounts/store.ts'
import type { IdentityPorts } from '../ports.ts'
import { endOldestSessions } from './bound-store.ts'
import { readSessionConfiguration, type SessionConfiguration, setMaxSessions } from './config-store.ts'
import type { Liveness } from './liveness.ts'
import { ownSession } from './own-session.ts'

const present = (found: SessionConfiguration | undefined): SessionConfiguration => {
  if (!found) throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'the account is gone' })
  return found
}

export const sessionConfiguration =
  (database: Database) =>
  async ({ caller: { portal, accountId } }: { caller: Caller }): Promise<SessionConfiguration> =>
    present(await readSessionConfiguration(database, portal, accountId))

/** Bounds the account's sessions. Where it has more, the oldest ones end; the one that asks stays. */
export const sessionBounder =
  ({ database, clock }: IdentityPorts, liveness: Liveness) =>
  async (request: RequestContext & { caller: Caller }, maxSessions: number): Promise<SessionConfiguration> => {
    const { portal, accountId, sessionId } = ownSession(request.caller)
    const bound = async (tx: Tx) => {
      const now = clock.now()
      await lockAccount(tx, portal, accountId)
      await setMaxSessions(tx, portal, accountId, maxSessions, now)
      const ending = { portal, accountId, keep: maxSessions - 1, except: sessionId, reason: 'DISPLACED' } as const
      const ended = await endOldestSessions(tx, ending, now)
      await recordAct(tx, actOf(request), { workspaceId: null, targetId: accountId, detail: { maxSessions } })
      return { ended, configuration: present(await readSessionConfiguration(tx, portal, accountId)) }
    }
    const { ended, configuration } = await inTransaction(database, bound)
    for (const id of ended) liveness.forget(id)
    return configuration
  }
