import { type Selectable, sql } from 'kysely'
import { type Database, readPage, type Tx, timestamptz } from '../../../database/index.ts'
import {
  type AccountId,
  addMs,
  type BizId,
  type Instant,
  type Page,
  type Permission,
  toDate,
} from '../../../kernel/index.ts'
import type { NewKey } from '../credentials.ts'
import { type OperatorApiKeysTable, keyColumns as sharedColumns } from '../schema.ts'
import type { ApiKeyQuery } from '../store.ts'

/* The keys of operators belong to no workspace, so they have their own table: no query of a tenant can reach them. */

export type OperatorKeyId = BizId<'operatorApiKey'>

const keyColumns = [...sharedColumns, 'providerId'] as const

export type OperatorKeyRow = Pick<Selectable<OperatorApiKeysTable>, (typeof keyColumns)[number]>

const operatorColumns = [
  'bizId as id',
  'personKey',
  'email',
  'defaultLanguage as language',
  'accountStatus as status',
  'operatorPermissions as permissions',
] as const

/** Locks the row. Returns undefined unless the account is an active operator. */
export function lockOperator(tx: Tx, id: AccountId) {
  return tx
    .selectFrom('accounts')
    .select(operatorColumns)
    .where('portal', '=', 'SYSTEM')
    .where('accountStatus', '=', 'ACTIVE')
    .where('bizId', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

export function operatorById(database: Database | Tx, id: AccountId) {
  return database
    .selectFrom('accounts')
    .select(operatorColumns)
    .where('portal', '=', 'SYSTEM')
    .where('bizId', '=', id)
    .executeTakeFirst()
}

/** Active operators with one of the permissions. */
export function operatorsWithAny(tx: Tx, permissions: readonly Permission[]): Promise<{ id: AccountId }[]> {
  return tx
    .selectFrom('accounts')
    .select('bizId as id')
    .where('portal', '=', 'SYSTEM')
    .where('accountStatus', '=', 'ACTIVE')
    .where(sql<boolean>`operator_permissions && ${[...permissions]}::text[]`)
    .orderBy('bizId')
    .execute()
}

/** Serializes changes of these keys, which are few. */
export async function lockKeys(tx: Tx): Promise<void> {
  await sql`SELECT pg_advisory_xact_lock(hashtextextended('operator_api_keys', 0))`.execute(tx)
}

export function operatorKeyById(store: Database | Tx, id: OperatorKeyId): Promise<OperatorKeyRow | undefined> {
  return store.selectFrom('operator_api_keys').select(keyColumns).where('bizId', '=', id).executeTakeFirst()
}

export function lockOperatorKey(tx: Tx, id: OperatorKeyId): Promise<OperatorKeyRow | undefined> {
  return tx.selectFrom('operator_api_keys').select(keyColumns).where('bizId', '=', id).forUpdate().executeTakeFirst()
}

export type NewOperatorKey = Pick<
  OperatorKeyRow,
  'bizId' | 'apiKeyName' | 'permissionCodes' | 'ipAllowlist' | 'providerId' | 'createdBy'
> &
  NewKey & { expiresAt: Instant }

/** Disabled, until another operator enables it. Returns undefined if another key has the name. */
export function insertOperatorKey(tx: Tx, key: NewOperatorKey, at: Instant): Promise<OperatorKeyRow | undefined> {
  return tx
    .insertInto('operator_api_keys')
    .values({
      ...key,
      publicKey: key.publicKey && JSON.stringify(key.publicKey),
      apiKeyStatus: 'DISABLED',
      expiresAt: toDate(key.expiresAt),
      lastUsedIp: null,
      enabledBy: null,
      createdAt: toDate(at),
      updatedAt: toDate(at),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning(keyColumns)
    .executeTakeFirst()
}

/** Does not count deleted keys. */
export async function countOperatorKeys(tx: Tx): Promise<number> {
  const { total } = await tx
    .selectFrom('operator_api_keys')
    .where('apiKeyStatus', '!=', 'DELETED')
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return total
}

/** `enabledBy` is set if an operator enables the key. */
export function setOperatorKeyStatus(
  tx: Tx,
  id: OperatorKeyId,
  changes: Pick<OperatorKeyRow, 'apiKeyStatus'> & { enabledBy?: AccountId },
  at: Instant,
): Promise<OperatorKeyRow> {
  return tx
    .updateTable('operator_api_keys')
    .set({ ...changes, updatedAt: toDate(at) })
    .where('bizId', '=', id)
    .returning(keyColumns)
    .executeTakeFirstOrThrow()
}

/** Suspends what the account has created or enabled. */
export async function suspendOperatorKeysOf(tx: Tx, account: AccountId, at: Instant): Promise<number> {
  const suspended = await tx
    .updateTable('operator_api_keys')
    .set({ apiKeyStatus: 'SUSPENDED', updatedAt: toDate(at) })
    .where((eb) => eb.or([eb('createdBy', '=', account), eb('enabledBy', '=', account)]))
    .where('apiKeyStatus', 'in', ['ACTIVE', 'DISABLED'])
    .returning('bizId')
    .execute()
  return suspended.length
}

export type OperatorKeyQuery = Omit<ApiKeyQuery, 'workspaceId' | 'createdBy' | 'prefix'>

export function listOperatorKeys(
  database: Database,
  { status, from, to, sortBy, sortOrder, ...page }: OperatorKeyQuery,
  { at, maxLifeMs }: { at: Instant; maxLifeMs: number },
): Promise<Page<OperatorKeyRow>> {
  let found = database.selectFrom('operator_api_keys')
  const oldest = addMs(at, -maxLifeMs)
  const expired = sql<boolean>`(expires_at <= ${timestamptz(at)} OR created_at <= ${timestamptz(oldest)})`
  if (status === undefined) found = found.where('apiKeyStatus', '!=', 'DELETED')
  else if (status === 'EXPIRED') found = found.where('apiKeyStatus', '!=', 'DELETED').where(expired)
  else found = found.where('apiKeyStatus', '=', status)
  if (status !== undefined && status !== 'DELETED' && status !== 'EXPIRED')
    found = found.where(sql<boolean>`NOT ${expired}`)
  if (from !== undefined) found = found.where('createdAt', '>=', timestamptz(from))
  if (to !== undefined) found = found.where('createdAt', '<=', timestamptz(to))
  return readPage(found, found.select(keyColumns).orderBy(sortBy, sortOrder).orderBy('bizId', sortOrder), page)
}

export function operatorKeyByPrefix(database: Database, prefix: string) {
  return database
    .selectFrom('operator_api_keys as k')
    .innerJoin('accounts as a', 'a.bizId', 'k.createdBy')
    .select([
      'k.bizId',
      'k.keyPrefix',
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
      'a.ipWhitelistEnabled as creatorIsWhitelisted',
      'a.operatorPermissions as creatorPermissions',
    ])
    .where('k.keyPrefix', '=', prefix)
    .executeTakeFirst()
}

/** The identity provider of an active key that provisions people. */
export async function providerOfKey(store: Database, id: OperatorKeyId): Promise<string | undefined> {
  return (await selectProvider(store, id).executeTakeFirst())?.providerId ?? undefined
}

/** Locks the key, so that it does not end before the transaction. */
export async function lockProviderOfKey(tx: Tx, id: OperatorKeyId): Promise<string | undefined> {
  return (await selectProvider(tx, id).forShare().executeTakeFirst())?.providerId ?? undefined
}

/** Does nothing if the digest was replaced concurrently. */
export async function replaceOperatorDigest(
  database: Database,
  id: OperatorKeyId,
  former: Uint8Array,
  renewed: Uint8Array,
): Promise<void> {
  await database
    .updateTable('operator_api_keys')
    .set({ secretDigest: renewed })
    .where('bizId', '=', id)
    .where('secretDigest', '=', former)
    .execute()
}

/** Does nothing if a later use is already stored, because replicas can write in any order. */
export async function recordOperatorUse(
  database: Database,
  id: OperatorKeyId,
  clientIp: string,
  at: Instant,
): Promise<void> {
  await database
    .updateTable('operator_api_keys')
    .set({ lastUsedAt: toDate(at), lastUsedIp: clientIp })
    .where('bizId', '=', id)
    .where((eb) => eb.or([eb('lastUsedAt', 'is', null), eb('lastUsedAt', '<', timestamptz(at))]))
    .execute()
}

function selectProvider(store: Database | Tx, id: OperatorKeyId) {
  return store
    .selectFrom('operator_api_keys')
    .select('providerId')
    .where('bizId', '=', id)
    .where('apiKeyStatus', '=', 'ACTIVE')
}
