import { inTransaction } from '../../database/index.ts'
import type { RequestContext } from '../../kernel/index.ts'
import { recordRefusal, unauthenticatedAuditContext } from '../../platform/audit/index.ts'
import { queueNotice } from '../notices/service.ts'
import type { IdentityPorts } from '../ports.ts'
import { copiedPasskey } from './ceremony.ts'
import { type Passkey, suspendPasskey } from './store.ts'

type CopyPorts = Pick<IdentityPorts, 'clock' | 'database' | 'ids'>

/**
 * Runs `work`, which verifies an assertion. A counter that went back shows a copy of the passkey, so the passkey is
 * suspended, after the rollback of `work`. Two devices may have the key, and nobody knows which of them is the owner's.
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

async function suspend({ clock, database, ids }: CopyPorts, passkey: Passkey, context: RequestContext): Promise<void> {
  const { portal, accountId, id } = passkey
  await inTransaction(database, async (tx) => {
    const now = clock.now()
    if (!(await suspendPasskey(tx, passkey, now))) return
    await queueNotice(tx, ids, { portal, id: accountId }, 'PASSKEY_SUSPENDED', context, now)
    const detail = { reason: 'PASSKEY_COPIED', passkey: id }
    await recordRefusal(tx, unauthenticatedAuditContext(accountId, context, now), {
      workspaceId: null,
      targetId: accountId,
      detail,
    })
  })
}
