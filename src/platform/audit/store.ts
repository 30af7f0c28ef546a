import { type Database, type Param, statement, type Tx } from '../../database/index.ts'

import { type AuditOutcome, type Instant, type Portal, toDate } from '../../kernel/index.ts'

/** One audit entry. `detail` holds codes, ids, amounts and a stated reason, never secrets or addresses. */
export interface AuditEntry {
  at: Instant
  portal: Portal
  actorId: string | null
  workspaceId: string | null
  /** The id of the operation or the job. */
  action: string
  targetId: string | null
  outcome: AuditOutcome
  requestId: string
  clientIp: string
  detail: Record<string, string | number | boolean | null>
}

const insertEntry = statement((store, given: Param<Omit<AuditEntry, 'at' | 'detail'> & { at: Date; detail: string }>) =>
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

/** Inserts an entry in the transaction of the action that it records, so that neither exists without the other. */
export const insertAuditEntry = async (tx: Tx | Database, event: AuditEntry): Promise<void> => {
  await insertEntry.all(tx, { ...event, at: toDate(event.at), detail: JSON.stringify(event.detail) })
}
