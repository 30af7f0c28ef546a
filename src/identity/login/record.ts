import type { AccountId, Instant, RequestFacts } from '../../kernel/index.ts'
import { actBy, recordAct, recordRefusedAct } from '../../platform/audit/index.ts'
import { inTransaction, type Tx } from '../../platform/database/index.ts'
import type { IdentityPorts } from '../ports.ts'
import { insertLoginHistory, type LoginFailure } from './history-store.ts'

/** A login's outcome, for the account's owner (history) and for the operators (audit log). */
const record = async (
  { ids }: IdentityPorts,
  tx: Tx,
  facts: RequestFacts,
  accountId: AccountId | null,
  failure: LoginFailure | null,
  at: Instant,
): Promise<void> => {
  const { portal, clientIp, userAgent } = facts
  const entry = { id: ids.next<'login'>(), portal, clientIp, userAgent, failure }
  await insertLoginHistory(tx, { ...entry, accountId: accountId ?? ids.next<'account'>() }, at)
  const act = actBy(accountId, facts, at)
  const on = { workspaceId: null, targetId: accountId }
  await (failure === null ? recordAct(tx, act, on) : recordRefusedAct(tx, act, { ...on, detail: { reason: failure } }))
}

export const recordLogin = (
  ports: IdentityPorts,
  tx: Tx,
  facts: RequestFacts,
  accountId: AccountId,
  at: Instant,
): Promise<void> => record(ports, tx, facts, accountId, null, at)

export const recordFailedLogin = (
  ports: IdentityPorts,
  facts: RequestFacts,
  accountId: AccountId | null,
  failure: LoginFailure,
): Promise<void> =>
  inTransaction(ports.database, (tx) => record(ports, tx, facts, accountId, failure, ports.clock.now()))
