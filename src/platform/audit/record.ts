import type { Database, Tx } from '../../database/index.ts'
import type { AccountId, Caller, Instant, Portal, RequestContext, WorkspaceId } from '../../kernel/index.ts'
import { type AuditEntry, insertAuditEntry } from './store.ts'

interface RequestedContext {
  operationId: string
  /** Null if the caller is unknown. */
  accountId: AccountId | null
  /** The API key of the request, which the account has created; null if there is none. */
  apiKeyId: string | null
  portal: Portal
  at: Instant
  requestId: string
  clientIp: string
}

/** Who does what, when and from where: the part of a request that a use case needs for its audit entry. */
export interface AuditContext extends RequestedContext {
  accountId: AccountId
}

/** The act of a request without a token: by an account that the use case has found, or by an unknown caller. */
export const unauthenticatedAuditContext = (
  accountId: AccountId | null,
  facts: RequestContext,
  at: Instant,
): RequestedContext => ({
  operationId: facts.operationId,
  accountId,
  apiKeyId: null,
  portal: facts.portal,
  at,
  requestId: facts.requestId,
  clientIp: facts.clientIp,
})

/** The act of an authenticated request. */
export const auditContextOf = (request: RequestContext & { caller: Caller }): AuditContext => {
  const { accountId, apiKeyId } = request.caller
  return { ...unauthenticatedAuditContext(accountId, request, request.receivedAt), accountId, apiKeyId }
}

const entryOf = (act: RequestedContext, detail: AuditEntry['detail']) => ({
  at: act.at,
  portal: act.portal,
  actorId: act.accountId,
  action: act.operationId,
  requestId: act.requestId,
  clientIp: act.clientIp,
  detail: { ...detail, ...(act.apiKeyId !== null && { apiKey: act.apiKeyId }) },
})

/** Inserts the audit entry of a successful act. */
export const recordSuccess = (
  tx: Tx,
  act: RequestedContext,
  { detail = {}, ...on }: { workspaceId: WorkspaceId | null; targetId: string | null; detail?: AuditEntry['detail'] },
): Promise<void> => insertAuditEntry(tx, { ...on, ...entryOf(act, detail), outcome: 'SUCCESS' })

/** Inserts the audit entry of a refused act, usually outside a transaction. */
export const recordRefusal = (
  store: Database | Tx,
  act: RequestedContext,
  {
    detail,
    ...on
  }: { workspaceId: WorkspaceId | null; targetId: string | null; detail: AuditEntry['detail'] & { reason: string } },
): Promise<void> => insertAuditEntry(store, { ...on, ...entryOf(act, detail), outcome: 'REFUSED' })
