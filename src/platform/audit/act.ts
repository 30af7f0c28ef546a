import type { Database, Tx } from '../../database/index.ts'
import type { AccountId, Caller, Instant, Portal, RequestContext, WorkspaceId } from '../../kernel/index.ts'
import { type AuditEvent, recordAudit } from './store.ts'

interface AskedAct {
  operationId: string
  /** Null where nobody is known to have asked. */
  accountId: AccountId | null
  /** The API key that asked, of which the account is the maker; null where none did. */
  apiKeyId: string | null
  portal: Portal
  at: Instant
  requestId: string
  clientIp: string
}

/** Who does what, when and from where: what a use case has to know of the request that asked for it. */
export interface Act extends AskedAct {
  accountId: AccountId
}

/** The act of a request without a token: of an account that the use case has found, or of nobody. */
export const actBy = (accountId: AccountId | null, facts: RequestContext, at: Instant): AskedAct => ({
  operationId: facts.operationId,
  accountId,
  apiKeyId: null,
  portal: facts.portal,
  at,
  requestId: facts.requestId,
  clientIp: facts.clientIp,
})

export const actOf = (request: RequestContext & { caller: Caller }): Act => {
  const { accountId, apiKeyId } = request.caller
  return { ...actBy(accountId, request, request.receivedAt), accountId, apiKeyId }
}

const entryOf = (act: AskedAct, detail: AuditEvent['detail']) => ({
  at: act.at,
  portal: act.portal,
  actorId: act.accountId,
  action: act.operationId,
  requestId: act.requestId,
  clientIp: act.clientIp,
  detail: { ...detail, ...(act.apiKeyId !== null && { apiKey: act.apiKeyId }) },
})

/** The audit row of an act that was carried out. */
export const recordAct = (
  tx: Tx,
  act: AskedAct,
  { detail = {}, ...on }: { workspaceId: WorkspaceId | null; targetId: string | null; detail?: AuditEvent['detail'] },
): Promise<void> => recordAudit(tx, { ...on, ...entryOf(act, detail), outcome: 'SUCCESS' })

/** The audit row of an act that was refused; mostly there is no transaction that it could stand in. */
export const recordRefusedAct = (
  store: Database | Tx,
  act: AskedAct,
  {
    detail,
    ...on
  }: { workspaceId: WorkspaceId | null; targetId: string | null; detail: AuditEvent['detail'] & { reason: string } },
): Promise<void> => recordAudit(store, { ...on, ...entryOf(act, detail), outcome: 'REFUSED' })
