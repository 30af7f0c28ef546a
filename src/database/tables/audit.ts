import type { Generated } from 'kysely'
import type { AuditOutcome } from '../../domains/operators/contract.ts'
import type { Portal } from '../../kernel/index.ts'
import type { Json, Timestamp } from './columns.ts'

export interface AuditLogTable {
  biz_id: Generated<string>
  at: Timestamp
  portal: Portal
  actor_biz_id: string | null
  workspace_biz_id: string | null
  /** The id of the operation that acted, or of the job. */
  action: string
  target_biz_id: string | null
  outcome: AuditOutcome
  request_id: string
  client_ip: string
  detail: Json
  sequence: Generated<number | null>
  previous_hash: Generated<Uint8Array | null>
  hash: Generated<Uint8Array | null>
}

/** One row: where the chain of sealed entries ends. */
export interface AuditChainTable {
  is_only: Generated<boolean>
  sequence: number
  hash: Uint8Array
}

export interface AuditTables {
  audit_log: AuditLogTable
  audit_chain: AuditChainTable
}
