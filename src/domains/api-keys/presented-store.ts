import { type Database, moment } from '../../database/index.ts'
import {
  type AccountId,
  type AccountStatus,
  type Instant,
  type Portal,
  toDate,
  type WorkspaceId,
} from '../../kernel/index.ts'

import type { ApiKeyId, ApiKeyScope, StoredStatus } from './store.ts'

/** A key as authentication needs it, with the account that made it. */
export interface PresentableKey {
  id: ApiKeyId
  workspaceId: WorkspaceId
  digest: Uint8Array
  status: StoredStatus
  permissionCodes: string[]
  ipAllowlist: string[]
  expiresAt: Instant | null
  creatorId: AccountId
  creatorPortal: Portal
  creatorStatus: AccountStatus
  /** Whether the creator's own whitelist of addresses is in force. */
  creatorIsWhitelisted: boolean
}

export const keyByPrefix = (database: Database, prefix: string): Promise<PresentableKey | undefined> =>
  database
    .selectFrom('api_keys as k')
    .innerJoin('accounts as a', 'a.biz_id', 'k.created_by')
    .where('k.key_prefix', '=', prefix)
    .select([
      'k.biz_id as id',
      'k.workspace_biz_id as workspaceId',
      'k.secret_digest as digest',
      'k.api_key_status as status',
      'k.permission_codes as permissionCodes',
      'k.ip_allowlist as ipAllowlist',
      'k.expires_at as expiresAt',
      'a.biz_id as creatorId',
      'a.portal as creatorPortal',
      'a.account_status as creatorStatus',
      'a.ip_whitelist_enabled as creatorIsWhitelisted',
    ])
    .executeTakeFirst()

/** Keeps the latest use, whichever replica tells of it last. */
export const recordUse = async (
  database: Database,
  { workspaceId, id }: ApiKeyScope,
  clientIp: string,
  at: Instant,
): Promise<void> => {
  await database
    .updateTable('api_keys')
    .set({ last_used_at: toDate(at), last_used_ip: clientIp })
    .where('workspace_biz_id', '=', workspaceId)
    .where('biz_id', '=', id)
    .where((eb) => eb.or([eb('last_used_at', 'is', null), eb('last_used_at', '<', moment(at))]))
    .execute()
}
