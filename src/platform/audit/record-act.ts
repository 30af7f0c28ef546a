import type { Database, Tx } from '../../database/index.ts'
import type { AccountId, Caller, Instant, Portal, RequestContext, WorkspaceId } from '../../kernel/index.ts'
import { type AuditEvent, recordAudit } from './store.ts'

interface RequestedAct {
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
export interface Act extends RequestedAct {
  accountId: AccountId
}

/** The act of a request without a token: by an account that the use case has found, or by an unknown caller. */
export const actBy = (accountId: AccountId | null, facts: RequestContext, at: Instant): RequestedAct => ({
  operationId: facts.operationId,
  accountId,
  apiKeyId: null,
  portal: facts.portal,
  at,
  requestId: facts.requestId,
  clientIp: facts.clientIp,
})

/** The act of an authenticated request. */
export const actOf = (request: RequestContext & { caller: Caller }): Act => {
  const { accountId, apiKeyId } = request.caller
  return { ...actBy(accountId, request, request.receivedAt), accountId, apiKeyId }
}

const entryOf = (act: RequestedAct, detail: AuditEvent['detail']) => ({
  at: act.at,
  portal: act.portal,
  actorId: act.accountId,
  action: act.operationId,
  requestId: act.requestId,
  clientIp: act.clientIp,
  detail: { ...detail, ...(act.apiKeyId !== null && { apiKey: act.apiKeyId }) },
})

/** Inserts the audit entry of a successful act. */
export const recordAct = (
  tx: Tx,
  act: RequestedAct,
  { detail = {}, ...on }: { workspaceId: WorkspaceId | null; targetId: string | null; detail?: AuditEvent['detail'] },
): Promise<void> => recordAudit(tx, { ...on, ...entryOf(act, detail), outcome: 'SUCCESS' })

/** Inserts the audit entry of a refused act, usually outside a transaction. */
export const recordRefusedAct = (
  store: Database | Tx,
  act: RequestedAct,
  {
    detail,
    ...on
  }: { workspaceId: WorkspaceId | null; targetId: string | null; detail: AuditEvent['detail'] & { reason: string } },
): Promise<void> => recordAudit(store, { ...on, ...entryOf(act, detail), outcome: 'REFUSED' })
