import { inTransaction, type Tx } from '../../database/index.ts'
import type { AccountId, Instant, RequestContext } from '../../kernel/index.ts'
import { recordRefusal, recordSuccess, unauthenticatedAuditContext } from '../../platform/audit/index.ts'
import type { IdentityPorts } from '../ports.ts'
import { insertLoginHistory, type LoginFailure } from './store.ts'

interface LoginResult {
  /** Null if no account has the e-mail address. */
  accountId: AccountId | null
  /** Null for a success. */
  failure: LoginFailure | null
  /** The second factor that was checked; null if none was. */
  method: string | null
}

/** Records a result in the login history, for the account's owner, and in the audit log, for operators. */
const recordResult = async (
  { ids }: IdentityPorts,
  tx: Tx,
  { accountId, failure, method }: LoginResult,
  facts: RequestContext,
  at: Instant,
): Promise<void> => {
  const { portal, clientIp, userAgent } = facts
  const entry = { id: ids.next<'login'>(), portal, clientIp, userAgent, failure }
  await insertLoginHistory(tx, { ...entry, accountId: accountId ?? ids.next<'account'>() }, at)
  const act = unauthenticatedAuditContext(accountId, facts, at)
  const target = { workspaceId: null, targetId: accountId }
  const factor = method === null ? {} : { method }
  if (failure === null) await recordSuccess(tx, act, { ...target, detail: factor })
  else await recordRefusal(tx, act, { ...target, detail: { ...factor, reason: failure } })
}

/** Records a completed sign-in, in the transaction that starts its session. */
export const recordLogin = (
  ports: IdentityPorts,
  tx: Tx,
  login: { accountId: AccountId; method: string },
  facts: RequestContext,
  at: Instant,
): Promise<void> => recordResult(ports, tx, { ...login, failure: null }, facts, at)

/** Records a failed sign-in, in a transaction of its own. */
export const recordFailedLogin = (ports: IdentityPorts, failed: LoginResult, facts: RequestContext): Promise<void> =>
  inTransaction(ports.database, (tx) => recordResult(ports, tx, failed, facts, ports.clock.now()))
