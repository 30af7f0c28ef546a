import type { AccountId, Caller, Instant, Portal, RequestFacts, WorkspaceId } from '../../kernel/index.ts'
import type { Database, Tx } from '../database/index.ts'
import { type AuditEvent, recordAudit } from './store.ts'

/** Who does what, when and from where: what a use case has to know of the request that asked for it. */
export interface Act {
  operationId: string
  accountId: AccountId
  portal: Portal
  at: Instant
  requestId: string
  clientIp: string
}

export const actOf = (request: RequestFacts & { caller: Caller }): Act => ({
  operationId: request.operationId,
  accountId: request.caller.accountId,
  portal: request.portal,
  at: request.receivedAt,
  requestId: request.requestId,
  clientIp: request.clientIp,
})

const entryOf = (act: Act) => ({
  at: act.at,
  portal: act.portal,
  actorId: act.accountId,
  action: act.operationId,
  requestId: act.requestId,
  clientIp: act.clientIp,
})

/** The audit row of an act that was carried out. */
export const recordAct = (
  tx: Tx,
  act: Act,
  on: { workspaceId: WorkspaceId | null; targetId: string | null; detail?: AuditEvent['detail'] },
): Promise<void> => recordAudit(tx, { detail: {}, ...on, ...entryOf(act), outcome: 'SUCCESS' })

/** The audit row of an act that was refused, and so has no transaction that it could stand in. */
export const recordRefusedAct = (
  database: Database,
  act: Act,
  on: { workspaceId: WorkspaceId | null; targetId: string | null; detail: AuditEvent['detail'] & { reason: string } },
): Promise<void> => recordAudit(database, { ...on, ...entryOf(act), outcome: 'REFUSED' })
