import { type CodeOf, type Instant, type Portal, toDate } from '../../kernel/index.ts'
import type { Database, Tx } from '../database/tables/index.ts'

/** One act worth telling of later. `detail` holds codes and ids only: never secrets, addresses or bodies. */
export interface AuditEvent {
  at: Instant
  portal: Portal
  actorId: string | null
  workspaceId: string | null
  /** The id of the operation that acted, or of the job. */
  action: string
  targetId: string | null
  outcome: CodeOf<'auditOutcome'>
  requestId: string
  clientIp: string
  detail: Record<string, string | number | boolean | null>
}

/** Writes the row in the transaction of the act itself, so that neither exists without the other. */
export const recordAudit = async (tx: Tx | Database, event: AuditEvent): Promise<void> => {
  await tx
    .insertInto('audit_log')
    .values({
      at: toDate(event.at),
      portal: event.portal,
      actor_biz_id: event.actorId,
      workspace_biz_id: event.workspaceId,
      action: event.action,
      target_biz_id: event.targetId,
      outcome: event.outcome,
      request_id: event.requestId,
      client_ip: event.clientIp,
      detail: JSON.stringify(event.detail),
    })
    .execute()
}
