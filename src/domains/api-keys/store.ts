import type { Database, Tx } from '../../database/index.ts'
import { type AccountId, type BizId, type Instant, toDate, type WorkspaceId } from '../../kernel/index.ts'
import type { ApiKeyStatus } from './contract.ts'

export type ApiKeyId = BizId<'apiKey'>
export type StoredStatus = Exclude<ApiKeyStatus, 'EXPIRED'>

export const apiKeyColumns = [
  'biz_id as id',
  'workspace_biz_id as workspaceId',
  'api_key_name as name',
  'key_prefix as prefix',
  'key_last4 as last4',
  'api_key_status as status',
  'permission_codes as permissionCodes',
  'ip_allowlist as ipAllowlist',
  'expires_at as expiresAt',
  'last_used_at as lastUsedAt',
  'last_used_ip as lastUsedIp',
  'created_by as createdBy',
  'created_at as createdAt',
  'updated_at as updatedAt',
] as const

export interface ApiKeyRow {
  id: ApiKeyId
  workspaceId: WorkspaceId
  name: string
  prefix: string
  last4: string
  status: StoredStatus
  permissionCodes: string[]
  ipAllowlist: string[]
  expiresAt: Instant | null
  lastUsedAt: Instant | null
  lastUsedIp: string | null
  createdBy: AccountId
  createdAt: Instant
  updatedAt: Instant
}

/** A key is known only inside its workspace. */
export interface ApiKeyScope {
  workspaceId: WorkspaceId
  id: ApiKeyId
}

export const keyById = (store: Database | Tx, { workspaceId, id }: ApiKeyScope): Promise<ApiKeyRow | undefined> =>
  store
    .selectFrom('api_keys')
    .select(apiKeyColumns)
    .where('workspace_biz_id', '=', workspaceId)
    .where('biz_id', '=', id)
    .executeTakeFirst()

export interface NewApiKey extends ApiKeyScope {
  name: string
  prefix: string
  last4: string
  digest: Uint8Array
  permissionCodes: string[]
  ipAllowlist: string[]
  expiresAt: Instant | null
  createdBy: AccountId
}

/** Undefined where a key of the workspace has that name. */
export const insertKey = (tx: Tx, made: NewApiKey, at: Instant): Promise<ApiKeyRow | undefined> =>
  tx
    .insertInto('api_keys')
    .values({
      workspace_biz_id: made.workspaceId,
      biz_id: made.id,
      api_key_name: made.name,
      key_prefix: made.prefix,
      key_last4: made.last4,
      secret_digest: made.digest,
      api_key_status: 'ACTIVE',
      permission_codes: made.permissionCodes,
      ip_allowlist: made.ipAllowlist,
      expires_at: made.expiresAt === null ? null : toDate(made.expiresAt),
      last_used_ip: null,
      created_by: made.createdBy,
      created_at: toDate(at),
      updated_at: toDate(at),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning(apiKeyColumns)
    .executeTakeFirst()

export const countKeys = async (tx: Tx, workspaceId: WorkspaceId): Promise<number> => {
  const { total } = await tx
    .selectFrom('api_keys')
    .where('workspace_biz_id', '=', workspaceId)
    .where('api_key_status', '!=', 'DELETED')
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return total
}

export const setStatus = (
  tx: Tx,
  { workspaceId, id }: ApiKeyScope,
  status: StoredStatus,
  at: Instant,
): Promise<ApiKeyRow> =>
  tx
    .updateTable('api_keys')
    .set({ api_key_status: status, updated_at: toDate(at) })
    .where('workspace_biz_id', '=', workspaceId)
    .where('biz_id', '=', id)
    .returning(apiKeyColumns)
    .executeTakeFirstOrThrow()
