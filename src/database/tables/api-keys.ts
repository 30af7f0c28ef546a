import type { ApiKeyStatus } from '../../domains/api-keys/contract.ts'
import type { AccountId, BizId, WorkspaceId } from '../../kernel/index.ts'
import type { NullableTimestamp, Timestamp } from './columns.ts'

export interface ApiKeysTable {
  workspace_biz_id: WorkspaceId
  biz_id: BizId<'apiKey'>
  api_key_name: string
  /** The public part of the key, by which it is found. */
  key_prefix: string
  key_last4: string
  secret_digest: Uint8Array
  /** EXPIRED is never written: it follows from `expires_at`. */
  api_key_status: Exclude<ApiKeyStatus, 'EXPIRED'>
  permission_codes: string[]
  /** Addresses and ranges that it may be used from; empty for any. */
  ip_allowlist: string[]
  expires_at: NullableTimestamp
  last_used_at: NullableTimestamp
  last_used_ip: string | null
  created_by: AccountId
  created_at: Timestamp
  updated_at: Timestamp
}

export interface ApiKeyTables {
  api_keys: ApiKeysTable
}
