import { type Database, type Given, statement, type Tx } from '../../database/index.ts'

import { type AuditOutcome, type Instant, type Portal, toDate } from '../../kernel/index.ts'

/** One act worth telling of later. `detail` holds codes, ids, figures and the reason that somebody gave: never secrets or addresses. */
export interface AuditEvent {
  at: Instant
  portal: Portal
  actorId: string | null
  workspaceId: string | null
  /** The id of the operation that acted, or of the job. */
  action: string
  targetId: string | null
  outcome: AuditOutcome
  requestId: string
  clientIp: string
  detail: Record<string, string | number | boolean | null>
}

const recording = statement((store, given: Given<Omit<AuditEvent, 'at' | 'detail'> & { at: Date; detail: string }>) =>
  store.insertInto('audit_log').values({
    at: given('at'),
    portal: given('portal'),
    actor_biz_id: given('actorId'),
    workspace_biz_id: given('workspaceId'),
    action: given('action'),
    target_biz_id: given('targetId'),
    outcome: given('outcome'),
    request_id: given('requestId'),
    client_ip: given('clientIp'),
    detail: given('detail'),
  }),
)

/** Writes the row in the transaction of the act itself, so that neither exists without the other. */
export const recordAudit = async (tx: Tx | Database, event: AuditEvent): Promise<void> => {
  await recording.all(tx, { ...event, at: toDate(event.at), detail: JSON.stringify(event.detail) })
}
