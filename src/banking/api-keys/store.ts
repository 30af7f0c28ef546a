import { type Selectable, sql } from 'kysely'
import { type Database, isSuspect, readPage, type Tx, timestamptz } from '../../database/index.ts'
import {
  type AccountId,
  type BizId,
  type Instant,
  type Page,
  type PageRequest,
  toDate,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { recordAs } from '../../platform/events/index.ts'
import type { ApiKeyStatus } from './contract.ts'
import type { NewKey } from './credentials.ts'
import { type ApiKeysTable, keyColumns } from './schema.ts'

export type ApiKeyId = BizId<'apiKey'>

const columns = [...keyColumns, 'workspaceBizId', 'operatorBizId'] as const

export type ApiKeyRow = Pick<Selectable<ApiKeysTable>, (typeof columns)[number]>

export type ApiKeyScope = Pick<ApiKeyRow, 'workspaceBizId' | 'bizId'>

export function keyById(store: Database | Tx, { workspaceBizId, bizId }: ApiKeyScope): Promise<ApiKeyRow | undefined> {
  return store
    .selectFrom('api_keys')
    .select(columns)
    .where('workspaceBizId', '=', workspaceBizId)
    .where('bizId', '=', bizId)
    .executeTakeFirst()
}

/** Returns the key as a change recorded it. Records from before the column `credential` are about secrets. */
export async function keyOfRecord(tx: Tx, record: unknown): Promise<ApiKeyRow> {
  const found = tx.selectFrom(recordAs('api_keys', record, 'k')).select(columns)
  const { credential, ...key } = await found.executeTakeFirstOrThrow()
  return { ...key, credential: credential ?? 'SECRET' }
}

/** For operators: the key can belong to any workspace. */
export async function workspaceOfKey(tx: Tx, id: ApiKeyId): Promise<WorkspaceId | undefined> {
  const key = tx.selectFrom('api_keys').select('workspaceBizId as workspaceId').where('bizId', '=', id)
  return (await key.executeTakeFirst())?.workspaceId
}

export interface NewApiKey extends ApiKeyScope, NewKey {
  apiKeyName: string
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
      workspaceBizId: key.workspaceBizId,
      bizId: key.bizId,
      apiKeyName: key.apiKeyName,
      keyPrefix: key.keyPrefix,
      keyLast4: key.keyLast4,
      credential: key.credential,
      secretDigest: key.secretDigest,
      publicKey: key.publicKey && JSON.stringify(key.publicKey),
      credentialThumbprint: key.credentialThumbprint,
      apiKeyStatus: 'ACTIVE',
      permissionCodes: key.permissionCodes,
      ipAllowlist: key.ipAllowlist,
      expiresAt: key.expiresAt === null ? null : toDate(key.expiresAt),
      lastUsedIp: null,
      createdBy: key.createdBy,
      createdAt: toDate(at),
      updatedAt: toDate(at),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning(columns)
    .executeTakeFirst()
}

/** Does not count deleted keys. */
export async function countKeys(tx: Tx, workspaceId: WorkspaceId): Promise<number> {
  const { total } = await tx
    .selectFrom('api_keys')
    .where('workspaceBizId', '=', workspaceId)
    .where('apiKeyStatus', '!=', 'DELETED')
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return total
}

/** `enabledBy` is set if a member enables the key. */
export function setStatus(
  tx: Tx,
  { workspaceBizId, bizId }: ApiKeyScope,
  { enabledBy, ...changes }: Pick<ApiKeyRow, 'apiKeyStatus' | 'operatorBizId'> & { enabledBy?: AccountId },
  at: Instant,
): Promise<ApiKeyRow> {
  return tx
    .updateTable('api_keys')
    .set({
      ...changes,
      updatedAt: toDate(at),
      ...(enabledBy && { enabledBy, enabledAt: toDate(at) }),
    })
    .where('workspaceBizId', '=', workspaceBizId)
    .where('bizId', '=', bizId)
    .returning(columns)
    .executeTakeFirstOrThrow()
}

/**
 * Covers all workspaces. Suspends what the account created, and what a suspect of the recovery created or enabled.
 */
export async function suspendKeysOf(tx: Tx, creator: AccountId, at: Instant): Promise<number> {
  const recovery = { accountId: creator, at }
  const suspected = [isSuspect(recovery, 'createdBy', 'createdAt'), isSuspect(recovery, 'enabledBy', 'enabledAt')]
  const suspended = await tx
    .updateTable('api_keys')
    .set({ apiKeyStatus: 'SUSPENDED', updatedAt: toDate(at) })
    .where(({ or, eb }) => or([eb('createdBy', '=', creator), ...suspected]))
    .where('apiKeyStatus', 'in', ['ACTIVE', 'DISABLED'])
    .returning('bizId')
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

const sortColumns = { createdAt: 'createdAt', updatedAt: 'updatedAt' } as const

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
    .orderBy('bizId', query.sortOrder)
  return readPage(found, sorted, query)
}

export type KeyWithCreator = NonNullable<Awaited<ReturnType<typeof keyByPrefix>>>

/** The key can belong to any workspace. */
export function keyByPrefix(database: Database, prefix: string) {
  return keysWithCreators(database).where('k.keyPrefix', '=', prefix).executeTakeFirst()
}

export function keysByPrefixes(database: Database, prefixes: readonly string[]): Promise<KeyWithCreator[]> {
  return keysWithCreators(database).where(sql<boolean>`key_prefix = ANY (${prefixes}::text[])`).execute()
}

/** Does nothing if the digest was replaced concurrently. */
export async function replaceDigest(
  database: Database,
  { workspaceBizId, bizId }: ApiKeyScope,
  former: Uint8Array,
  renewed: Uint8Array,
): Promise<void> {
  await database
    .updateTable('api_keys')
    .set({ secretDigest: renewed })
    .where('workspaceBizId', '=', workspaceBizId)
    .where('bizId', '=', bizId)
    .where('secretDigest', '=', former)
    .execute()
}

/** Does nothing if a later use is already stored, because replicas can write in any order. */
export async function recordUse(
  database: Database,
  { workspaceBizId, bizId }: ApiKeyScope,
  clientIp: string,
  at: Instant,
): Promise<void> {
  await database
    .updateTable('api_keys')
    .set({ lastUsedAt: toDate(at), lastUsedIp: clientIp })
    .where('workspaceBizId', '=', workspaceBizId)
    .where('bizId', '=', bizId)
    .where((eb) => eb.or([eb('lastUsedAt', 'is', null), eb('lastUsedAt', '<', timestamptz(at))]))
    .execute()
}

function keysWithCreators(database: Database) {
  return database.selectFrom('api_keys as k').innerJoin('accounts as a', 'a.bizId', 'k.createdBy').select([
    'k.bizId',
    'k.keyPrefix',
    'k.workspaceBizId',
    'k.credential',
    'k.secretDigest',
    'k.publicKey',
    'k.credentialThumbprint',
    'k.apiKeyStatus',
    'k.permissionCodes',
    'k.ipAllowlist',
    'k.expiresAt',
    'k.createdAt',
    'a.bizId as creatorId',
    'a.portal as creatorPortal',
    'a.accountStatus as creatorStatus',
    // Whether the creator's IP whitelist is enabled.
    'a.ipWhitelistEnabled as creatorIsWhitelisted',
  ])
}

function matching(database: Database, query: ApiKeyQuery, { at, oldest }: ExpiryQuery) {
  let found = database.selectFrom('api_keys')
  if (query.workspaceId !== undefined) found = found.where('workspaceBizId', '=', query.workspaceId)
  if (query.createdBy !== undefined) found = found.where('createdBy', '=', query.createdBy)
  const pastExpiry = sql<boolean>`expires_at IS NOT NULL AND expires_at <= ${timestamptz(at)}`
  const expired =
    oldest === null
      ? sql<boolean>`(${pastExpiry})`
      : sql<boolean>`(${pastExpiry} OR created_at <= ${timestamptz(oldest)})`
  if (query.status === undefined) found = found.where('apiKeyStatus', '!=', 'DELETED')
  else if (query.status === 'EXPIRED') found = found.where('apiKeyStatus', '!=', 'DELETED').where(expired)
  else found = found.where('apiKeyStatus', '=', query.status)
  if (query.status !== undefined && query.status !== 'DELETED' && query.status !== 'EXPIRED')
    found = found.where(sql<boolean>`NOT ${expired}`)
  if (query.prefix !== undefined) {
    const bytes = sql<string>`key_prefix COLLATE "C"`
    found = found.where(bytes, '>=', query.prefix).where(bytes, '<', query.prefix + afterPrefix)
  }
  if (query.from !== undefined) found = found.where('createdAt', '>=', timestamptz(query.from))
  if (query.to !== undefined) found = found.where('createdAt', '<=', timestamptz(query.to))
  return found
}
