import { assertKnownPermissions } from '../../contract/permissions.ts'
import { type Database, inTransaction, type Tx } from '../../database/index.ts'
import {
  type AccountId,
  type Ids,
  type Instant,
  notFound,
  type Page,
  type Permission,
  type Randomness,
  Refusal,
  type WorkspaceAccess,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'
import type { KeyedDigest } from '../../platform/crypto/index.ts'
import { generateKey } from './authentication.ts'
import {
  type ApiKeyCommand,
  type ApiKeySettings,
  assertMayGrant,
  assertStatus,
  expiryOf,
  statusAt,
  statusChanges,
} from './rules.ts'
import {
  type ApiKeyId,
  type ApiKeyQuery,
  type ApiKeyRow,
  countKeys,
  insertKey,
  keyById,
  listKeys,
  setStatus,
} from './store.ts'

export interface ApiKeyServicePorts {
  database: Database
  ids: Ids
  randomness: Randomness
  digest: KeyedDigest
  members: {
    /** Locks the workspace and refuses if the caller has lost a permission since `access` was read. */
    assertAccess(tx: Tx, accountId: AccountId, access: WorkspaceAccess): Promise<unknown>
  }
  /** All permissions that an API key can hold. */
  permissions: readonly Permission[]
  settings: ApiKeySettings
}

/** The caller, and their access to the workspace. */
export interface ApiKeyContext {
  auditContext: AuditContext
  access: WorkspaceAccess
}

const conflict = (internal: string): Refusal => new Refusal('STATE.CONFLICT', { internal })

const assertFound = (key: ApiKeyRow | undefined): ApiKeyRow => {
  if (!key) throw notFound('no such API key in this workspace')
  return key
}

/** Returns one page of a workspace's keys. */
export const listApiKeys = (
  { database }: ApiKeyServicePorts,
  query: ApiKeyQuery,
  at: Instant,
): Promise<Page<ApiKeyRow>> => listKeys(database, query, at)

/** Returns a key of the workspace. */
export const readApiKey = async (
  { database }: ApiKeyServicePorts,
  workspaceId: WorkspaceId,
  id: ApiKeyId,
): Promise<ApiKeyRow> => assertFound(await keyById(database, { workspaceId, id }))

/** Returns the permissions that the caller can grant to an API key. */
export const grantablePermissions = ({ permissions }: ApiKeyServicePorts, access: WorkspaceAccess): Permission[] =>
  permissions.filter((code) => access.permissions.has(code))

export interface CreateApiKeyInput {
  name: string
  permissionCodes: string[]
  ipAllowlist: string[]
  expiresAt: Instant | null
}

/** Creates a key. `key` contains its secret and is not available later. */
export const createApiKey = async (
  { database, ids, randomness, digest, members, permissions, settings }: ApiKeyServicePorts,
  input: CreateApiKeyInput,
  { auditContext, access }: ApiKeyContext,
): Promise<{ row: ApiKeyRow; key: string }> => {
  assertKnownPermissions(input.permissionCodes, permissions)
  assertMayGrant(access, input.permissionCodes)
  const expiresAt = expiryOf(input.expiresAt, auditContext.at, settings)
  return inTransaction(database, async (tx) => {
    await members.assertAccess(tx, auditContext.accountId, access)
    if ((await countKeys(tx, access.id)) >= settings.maxPerWorkspace)
      throw conflict('the workspace has the maximum number of API keys')
    const { key, ...secret } = generateKey(randomness, digest)
    const owner = { id: ids.next<'apiKey'>(), workspaceId: access.id, createdBy: auditContext.accountId }
    const row = await insertKey(tx, { ...input, ...secret, ...owner, expiresAt }, auditContext.at)
    if (!row) throw conflict('another API key has this name')
    const detail = { permissions: input.permissionCodes.join(',') }
    await recordSuccess(tx, auditContext, { workspaceId: access.id, targetId: row.id, detail })
    return { row, key }
  })
}

/** Enables, disables or deletes a key. Refuses with STATE.CONFLICT if its status does not allow the command. */
export const changeApiKeyStatus = (
  { database, members }: ApiKeyServicePorts,
  { id, command }: { id: ApiKeyId; command: ApiKeyCommand },
  { auditContext, access }: ApiKeyContext,
): Promise<ApiKeyRow> =>
  inTransaction(database, async (tx) => {
    // Locking the workspace serializes changes of its keys.
    await members.assertAccess(tx, auditContext.accountId, access)
    const key = assertFound(await keyById(tx, { workspaceId: access.id, id }))
    // Enabling a key grants its permissions again.
    if (command === 'enable') assertMayGrant(access, key.permissionCodes)
    assertStatus(statusAt(key, auditContext.at), command)
    const changed = await setStatus(tx, key, statusChanges[command].to, auditContext.at)
    await recordSuccess(tx, auditContext, { workspaceId: access.id, targetId: id })
    return changed
  })
