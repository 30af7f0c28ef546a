import { type Database, moment, readPage } from '../../database/index.ts'
import type { AuditOutcome } from '../../kernel/coded-values.ts'
import type { Instant, PageRequest } from '../../kernel/index.ts'

const columns = [
  'biz_id as id',
  'sequence',
  'at',
  'portal',
  'actor_biz_id as actorId',
  'workspace_biz_id as workspaceId',
  'action',
  'target_biz_id as targetId',
  'outcome',
  'request_id as requestId',
  'client_ip as clientIp',
  'detail',
  'previous_hash as previousHash',
  'hash',
] as const

export interface AuditQuery extends PageRequest {
  actorId?: string | undefined
  workspaceId?: string | undefined
  action?: string | undefined
  targetId?: string | undefined
  outcome?: AuditOutcome | undefined
  from?: Instant | undefined
  to?: Instant | undefined
  sortOrder: 'asc' | 'desc'
}

const matching = (database: Database, query: AuditQuery) => {
  let found = database.selectFrom('audit_log')
  if (query.actorId) found = found.where('actor_biz_id', '=', query.actorId)
  if (query.workspaceId) found = found.where('workspace_biz_id', '=', query.workspaceId)
  if (query.action) found = found.where('action', '=', query.action)
  if (query.targetId) found = found.where('target_biz_id', '=', query.targetId)
  if (query.outcome) found = found.where('outcome', '=', query.outcome)
  if (query.from !== undefined) found = found.where('at', '>=', moment(query.from))
  if (query.to !== undefined) found = found.where('at', '<=', moment(query.to))
  return found
}

export const listAuditLog = (database: Database, query: AuditQuery) => {
  const found = matching(database, query)
  const ordered = found.select(columns).orderBy('at', query.sortOrder).orderBy('biz_id', query.sortOrder)
  return readPage(found, ordered, query)
}

export type AuditRow = Awaited<ReturnType<typeof listAuditLog>>['items'][number]
