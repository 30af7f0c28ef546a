import type { AccountId, Instant, RequestFacts } from '../../kernel/index.ts'
import { recordAudit } from '../../platform/audit/index.ts'
import { inTransaction, type Tx } from '../../platform/database/index.ts'
import type { IdentityPorts } from '../ports.ts'
import { insertLoginHistory, type LoginFailure } from './history-store.ts'

/** A login's outcome, for the account's owner (history) and for the operators (audit log). */
const record = async (
  tx: Tx,
  facts: RequestFacts,
  entryId: string,
  accountId: AccountId | null,
  failure: LoginFailure | null,
  at: Instant,
): Promise<void> => {
  const { portal, clientIp, userAgent, requestId, operationId } = facts
  if (accountId) await insertLoginHistory(tx, { id: entryId, portal, accountId, clientIp, userAgent, failure }, at)
  await recordAudit(tx, {
    at,
    portal,
    actorId: accountId,
    workspaceId: null,
    action: operationId,
    targetId: accountId,
    outcome: failure === null ? 'SUCCESS' : 'REFUSED',
    requestId,
    clientIp,
    detail: failure === null ? {} : { reason: failure },
  })
}

export const recordLogin = (
  { ids }: IdentityPorts,
  tx: Tx,
  facts: RequestFacts,
  accountId: AccountId,
  at: Instant,
): Promise<void> => record(tx, facts, ids.next<'login'>(), accountId, null, at)

export const recordFailedLogin = (
  { database, clock, ids }: IdentityPorts,
  facts: RequestFacts,
  accountId: AccountId | null,
  failure: LoginFailure,
): Promise<void> =>
  inTransaction(database, (tx) => record(tx, facts, ids.next<'login'>(), accountId, failure, clock.now()))
