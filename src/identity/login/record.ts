import { inTransaction, type Tx } from '../../database/index.ts'
import type { AccountId, Instant, RequestContext } from '../../kernel/index.ts'
import { actBy, recordAct, recordRefusedAct } from '../../platform/audit/index.ts'
import type { MfaMethod } from '../mfa/contract.ts'
import type { IdentityPorts } from '../ports.ts'
import { insertLoginHistory, type LoginFailure } from './history-store.ts'

/** What came of a step of a login; null for what it has not: a failure, or a second factor that was looked at. */
interface Outcome {
  accountId: AccountId | null
  failure: LoginFailure | null
  method: MfaMethod | null
}

/** A login's outcome, for the account's owner (history) and for the operators (audit log). */
const record = async (
  { ids }: IdentityPorts,
  tx: Tx,
  facts: RequestContext,
  { accountId, failure, method }: Outcome,
  at: Instant,
): Promise<void> => {
  const { portal, clientIp, userAgent } = facts
  const entry = { id: ids.next<'login'>(), portal, clientIp, userAgent, failure }
  await insertLoginHistory(tx, { ...entry, accountId: accountId ?? ids.next<'account'>() }, at)
  const act = actBy(accountId, facts, at)
  const on = { workspaceId: null, targetId: accountId }
  const by = method === null ? {} : { method }
  if (failure === null) await recordAct(tx, act, { ...on, detail: by })
  else await recordRefusedAct(tx, act, { ...on, detail: { ...by, reason: failure } })
}

export const recordLogin = (
  ports: IdentityPorts,
  tx: Tx,
  facts: RequestContext,
  login: { accountId: AccountId; method: MfaMethod },
  at: Instant,
): Promise<void> => record(ports, tx, facts, { ...login, failure: null }, at)

export const recordFailedLogin = (ports: IdentityPorts, facts: RequestContext, failed: Outcome): Promise<void> =>
  inTransaction(ports.database, (tx) => record(ports, tx, facts, failed, ports.clock.now()))
