import { inTransaction } from '../../database/index.ts'
import type { RequestContext } from '../../kernel/index.ts'
import { recordRefusal, unauthenticatedAuditContext } from '../../platform/audit/index.ts'
import { lockAccount } from '../accounts/store.ts'
import { queueNotice } from '../notices/service.ts'
import type { SessionPorts } from '../sessions/service.ts'
import { endPasskeySessions } from '../sessions/store.ts'
import { copiedPasskey } from './ceremony.ts'
import { type Passkey, suspendPasskey } from './store.ts'

type CopyPorts = Pick<SessionPorts, 'clock' | 'database' | 'ids' | 'sessionCache'>

/**
 * Runs `work`, which verifies an assertion. A counter that went back shows a copy of the passkey, so the passkey is
 * suspended, after the rollback of `work`. Two devices may have the key, and nobody knows which of them is the owner's, so
 * the account's sessions that were started with a passkey end, too.
 */
export async function suspendingCopies<T>(
  ports: CopyPorts,
  context: RequestContext,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const passkey = copiedPasskey(error)
    if (passkey) await suspend(ports, passkey, context)
    throw error
  }
}

async function suspend(
  { clock, database, ids, sessionCache }: CopyPorts,
  passkey: Passkey,
  context: RequestContext,
): Promise<void> {
  const { portal, accountId, id } = passkey
  const ended = await inTransaction(database, async (tx) => {
    const now = clock.now()
    await lockAccount(tx, portal, accountId)
    if (!(await suspendPasskey(tx, passkey, now))) return []
    const sessions = await endPasskeySessions(tx, { portal, accountId, except: null }, now)
    await queueNotice(tx, ids, { portal, id: accountId }, 'PASSKEY_SUSPENDED', context, now)
    await recordRefusal(tx, unauthenticatedAuditContext(accountId, context, now), {
      workspaceId: null,
      targetId: accountId,
      detail: { reason: 'PASSKEY_COPIED', passkey: id, sessions: sessions.length },
    })
    return sessions
  })
  for (const session of ended) sessionCache.invalidate(session)
}
