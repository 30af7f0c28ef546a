import type { Database, Tx } from '../../database/index.ts'
import type { AccountId, Caller, Instant, Portal, RequestContext, WorkspaceId } from '../../kernel/index.ts'
import { type AuditEntry, insertAuditEntry } from './store.ts'

/** The part of a request that an audit entry records. `accountId` is null if the caller is unknown. */
export interface AuditContext<Account extends AccountId | null = AccountId> {
  operationId: string
  accountId: Account
  /** The API key that authenticated the request, if any. Its creator is `accountId`. */
  apiKeyId: string | null
  portal: Portal
  at: Instant
  requestId: string
  clientIp: string
}

/**
 * Returns the audit context of a request without a token. The operation can have identified the account in another way.
 */
export const unauthenticatedAuditContext = <Account extends AccountId | null>(
  accountId: Account,
  { operationId, portal, requestId, clientIp }: RequestContext,
  at: Instant,
): AuditContext<Account> => ({ operationId, accountId, apiKeyId: null, portal, at, requestId, clientIp })

/** Returns the audit context of an authenticated request. */
export const auditContextOf = (request: RequestContext & { caller: Caller }): AuditContext => {
  const { accountId, apiKeyId } = request.caller
  return { ...unauthenticatedAuditContext(accountId, request, request.receivedAt), apiKeyId }
}

type AnyContext = AuditContext<AccountId | null>

/** The object of an operation: a row, its workspace, and further facts. */
interface Subject {
  workspaceId: WorkspaceId | null
  targetId: string | null
  detail?: AuditEntry['detail']
}

const toEntry = (context: AnyContext, { workspaceId, targetId, detail }: Subject): Omit<AuditEntry, 'outcome'> => ({
  at: context.at,
  portal: context.portal,
  actorId: context.accountId,
  workspaceId,
  action: context.operationId,
  targetId,
  requestId: context.requestId,
  clientIp: context.clientIp,
  detail: { ...detail, ...(context.apiKeyId !== null && { apiKey: context.apiKeyId }) },
})

/** Inserts the audit entry of a successful operation, in its transaction. */
export const recordSuccess = (tx: Tx, context: AnyContext, subject: Subject): Promise<void> =>
  insertAuditEntry(tx, { ...toEntry(context, subject), outcome: 'SUCCESS' })

/** Inserts the audit entry of a refused operation, usually outside a transaction, which would roll back. */
export const recordRefusal = (
  store: Database | Tx,
  context: AnyContext,
  subject: Subject & { detail: { reason: string } },
): Promise<void> => insertAuditEntry(store, { ...toEntry(context, subject), outcome: 'REFUSED' })
