import { sql } from 'kysely'
import { type Database, readPage, type Tx, timestamptz } from '../../database/index.ts'
import {
  type AccountId,
  type AccountStatus,
  type BizId,
  type Instant,
  type Page,
  type PageRequest,
  type Portal,
  toDate,
  type WorkspaceId,
} from '../../kernel/index.ts'
import type { ApiKeyStatus } from './contract.ts'

export type ApiKeyId = BizId<'apiKey'>
export type StoredStatus = Exclude<ApiKeyStatus, 'EXPIRED'>

const columns = [
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
  'operator_biz_id as operatorId',
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
  /** The operator who disabled the key. */
  operatorId: AccountId | null
  createdAt: Instant
  updatedAt: Instant
}

export interface ApiKeyScope {
  workspaceId: WorkspaceId
  id: ApiKeyId
}

export function keyById(store: Database | Tx, { workspaceId, id }: ApiKeyScope): Promise<ApiKeyRow | undefined> {
  return store
    .selectFrom('api_keys')
    .select(columns)
    .where('workspace_biz_id', '=', workspaceId)
    .where('biz_id', '=', id)
    .executeTakeFirst()
}

/** For operators: the key can belong to any workspace. */
export async function workspaceOfKey(tx: Tx, id: ApiKeyId): Promise<WorkspaceId | undefined> {
  const key = tx.selectFrom('api_keys').select('workspace_biz_id as workspaceId').where('biz_id', '=', id)
  return (await key.executeTakeFirst())?.workspaceId
}

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

/** Returns undefined if the workspace already has a key with this name. */
export function insertKey(tx: Tx, key: NewApiKey, at: Instant): Promise<ApiKeyRow | undefined> {
  return tx
    .insertInto('api_keys')
    .values({
      workspace_biz_id: key.workspaceId,
      biz_id: key.id,
      api_key_name: key.name,
      key_prefix: key.prefix,
      key_last4: key.last4,
      secret_digest: key.digest,
      api_key_status: 'ACTIVE',
      permission_codes: key.permissionCodes,
      ip_allowlist: key.ipAllowlist,
      expires_at: key.expiresAt === null ? null : toDate(key.expiresAt),
      last_used_ip: null,
      created_by: key.createdBy,
      created_at: toDate(at),
      updated_at: toDate(at),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning(columns)
    .executeTakeFirst()
}

/** Does not count deleted keys. */
export async function countKeys(tx: Tx, workspaceId: WorkspaceId): Promise<number> {
  const { total } = await tx
    .selectFrom('api_keys')
    .where('workspace_biz_id', '=', workspaceId)
    .where('api_key_status', '!=', 'DELETED')
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return total
}

/** `enabledBy` is set if a member enables the key. */
export function setStatus(
  tx: Tx,
  { workspaceId, id }: ApiKeyScope,
  { status, operatorId, enabledBy }: Pick<ApiKeyRow, 'status' | 'operatorId'> & { enabledBy?: AccountId },
  at: Instant,
): Promise<ApiKeyRow> {
  return tx
    .updateTable('api_keys')
    .set({
      api_key_status: status,
      operator_biz_id: operatorId,
      updated_at: toDate(at),
      ...(enabledBy && { enabled_by: enabledBy, enabled_at: toDate(at) }),
    })
    .where('workspace_biz_id', '=', workspaceId)
    .where('biz_id', '=', id)
    .returning(columns)
    .executeTakeFirstOrThrow()
}

/**
 * Covers all workspaces. Suspends what the account created, and what a suspect of the recovery created or enabled.
 * `is_suspect` is in src/banking/members/suspicion-schema.ts.
 */
export async function suspendKeysOf(tx: Tx, creator: AccountId, at: Instant): Promise<number> {
  const recovery = [sql`${creator}::uuid`, timestamptz(at)]
  const suspects = sql`ANY (suspects_of(${sql.join(recovery)}))`
  const suspected = sql<boolean>`
    (created_by = ${suspects} AND is_suspect(${sql.join(recovery)}, workspace_biz_id, created_by, created_at)
      OR enabled_by = ${suspects} AND is_suspect(${sql.join(recovery)}, workspace_biz_id, enabled_by, enabled_at))`
  const suspended = await tx
    .updateTable('api_keys')
    .set({ api_key_status: 'SUSPENDED', updated_at: toDate(at) })
    .where(({ or, eb }) => or([eb('created_by', '=', creator), suspected]))
    .where('api_key_status', 'in', ['ACTIVE', 'DISABLED'])
    .returning('biz_id')
    .execute()
  return suspended.length
}

export interface ApiKeyQuery extends PageRequest {
  /** Only operators may leave it undefined. */
  workspaceId: WorkspaceId | undefined
  createdBy?: AccountId | undefined
  /** If undefined, selects every status except DELETED. */
  status: ApiKeyStatus | undefined
  /** The beginning of the public part. */
  prefix: string | undefined
  from: Instant | undefined
  to: Instant | undefined
  sortBy: 'createdAt' | 'updatedAt'
  sortOrder: 'asc' | 'desc'
}

const sortColumns = { createdAt: 'created_at', updatedAt: 'updated_at' } as const

/** Sorts after every character of a prefix. */
const afterPrefix = '~'

export interface ExpiryQuery {
  at: Instant
  /** Keys created at or before this instant have reached the maximum lifetime. Null if there is none. */
  oldest: Instant | null
}

export function listKeys(database: Database, query: ApiKeyQuery, expiry: ExpiryQuery): Promise<Page<ApiKeyRow>> {
  const found = matching(database, query, expiry)
  const sorted = found
    .select(columns)
    .orderBy(sortColumns[query.sortBy], query.sortOrder)
    .orderBy('biz_id', query.sortOrder)
  return readPage(found, sorted, query)
}

export interface KeyWithCreator {
  id: ApiKeyId
  workspaceId: WorkspaceId
  digest: Uint8Array
  status: StoredStatus
  permissionCodes: string[]
  ipAllowlist: string[]
  expiresAt: Instant | null
  createdAt: Instant
  creatorId: AccountId
  creatorPortal: Portal
  creatorStatus: AccountStatus
  /** Whether the creator's IP whitelist is enabled. */
  creatorIsWhitelisted: boolean
}

/** The key can belong to any workspace. */
export function keyByPrefix(database: Database, prefix: string): Promise<KeyWithCreator | undefined> {
  return database
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
      'k.created_at as createdAt',
      'a.biz_id as creatorId',
      'a.portal as creatorPortal',
      'a.account_status as creatorStatus',
      'a.ip_whitelist_enabled as creatorIsWhitelisted',
    ])
    .executeTakeFirst()
}

/** Does nothing if the digest was replaced concurrently. */
export async function replaceDigest(
  database: Database,
  { workspaceId, id, digest }: Pick<KeyWithCreator, 'workspaceId' | 'id' | 'digest'>,
  renewed: Uint8Array,
): Promise<void> {
  await database
    .updateTable('api_keys')
    .set({ secret_digest: renewed })
    .where('workspace_biz_id', '=', workspaceId)
    .where('biz_id', '=', id)
    .where('secret_digest', '=', digest)
    .execute()
}

/** Does nothing if a later use is already stored, because replicas can write in any order. */
export async function recordUse(
  database: Database,
  { workspaceId, id }: ApiKeyScope,
  clientIp: string,
  at: Instant,
): Promise<void> {
  await database
    .updateTable('api_keys')
    .set({ last_used_at: toDate(at), last_used_ip: clientIp })
    .where('workspace_biz_id', '=', workspaceId)
    .where('biz_id', '=', id)
    .where((eb) => eb.or([eb('last_used_at', 'is', null), eb('last_used_at', '<', timestamptz(at))]))
    .execute()
}

function matching(database: Database, query: ApiKeyQuery, { at, oldest }: ExpiryQuery) {
  let found = database.selectFrom('api_keys')
  if (query.workspaceId !== undefined) found = found.where('workspace_biz_id', '=', query.workspaceId)
  if (query.createdBy !== undefined) found = found.where('created_by', '=', query.createdBy)
  const pastExpiry = sql<boolean>`expires_at IS NOT NULL AND expires_at <= ${timestamptz(at)}`
  const expired =
    oldest === null
      ? sql<boolean>`(${pastExpiry})`
      : sql<boolean>`(${pastExpiry} OR created_at <= ${timestamptz(oldest)})`
  if (query.status === undefined) found = found.where('api_key_status', '!=', 'DELETED')
  else if (query.status === 'EXPIRED') found = found.where('api_key_status', '!=', 'DELETED').where(expired)
  else found = found.where('api_key_status', '=', query.status)
  if (query.status !== undefined && query.status !== 'DELETED' && query.status !== 'EXPIRED')
    found = found.where(sql<boolean>`NOT ${expired}`)
  if (query.prefix !== undefined) {
    const bytes = sql<string>`key_prefix COLLATE "C"`
    found = found.where(bytes, '>=', query.prefix).where(bytes, '<', query.prefix + afterPrefix)
  }
  if (query.from !== undefined) found = found.where('created_at', '>=', timestamptz(query.from))
  if (query.to !== undefined) found = found.where('created_at', '<=', timestamptz(query.to))
  return found
}
