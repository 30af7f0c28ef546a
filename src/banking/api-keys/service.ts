import type { DomainPorts } from '../../api/domain.ts'
import type { GivenPower, OwnerNotices } from '../../api/notices.ts'
import { assertKnownPermissions } from '../../contract/permissions.ts'
import type { Database, Tx } from '../../database/index.ts'
import {
  type AccountId,
  addMs,
  assertFound,
  assertSteppedUp,
  type Caller,
  conflict,
  type Ids,
  type Instant,
  type Page,
  type Permission,
  type Randomness,
  type RecoveredAccount,
  type WorkspaceAccess,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'
import type { KeyedDigest } from '../../platform/crypto/index.ts'
import { auditedCredential, createCredential, type RequestedCredential } from './credentials.ts'
import { suspendOperatorKeysOf } from './operator-keys/store.ts'
import {
  type ApiKeyCommand,
  type ApiKeySettings,
  assertNotDisabledByOperator,
  assertStatus,
  expiryOf,
  replacesWhitelist,
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
  suspendKeysOf,
} from './store.ts'

export interface ApiKeyServicePorts {
  database: Database
  transaction: DomainPorts['transaction']
  ids: Ids
  randomness: Randomness
  digest: KeyedDigest
  /** The identity providers of operators. */
  providers: readonly { id: string }[]
  members: {
    /** Locks the workspace. Throws ACCESS.PERMISSION_DENIED if the caller has just lost a permission. */
    assertAccess(tx: Tx, accountId: AccountId, access: WorkspaceAccess): Promise<unknown>
    /** Throws unless the caller can give the permissions to others. */
    assertMayGrant(
      tx: Tx,
      grantor: { caller: Caller; access: WorkspaceAccess; at: Instant },
      permissionCodes: readonly string[],
    ): Promise<void>
    /** Throws ACCESS.PERMISSION_DENIED if the member's own permissions are from an account that was recovered. */
    assertMayRestore(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<void>
    powerOf(permissionCodes: readonly string[]): GivenPower | undefined
  }
  /** Locks the caller's account. Throws ACCESS.TOKEN_INVALID if the caller's session has ended. */
  assertSessionOpen(tx: Tx, caller: Caller): Promise<void>
  notices: OwnerNotices
  /** All permissions that an API key can hold. */
  permissions: readonly Permission[]
  settings: ApiKeySettings
  /** Validity of a step-up. */
  stepUpMs: number
}

export interface ApiKeyContext {
  caller: Caller
  auditContext: AuditContext
  access: WorkspaceAccess
}

export function listApiKeys(
  { database, settings: { maxLifeMs } }: ApiKeyServicePorts,
  query: ApiKeyQuery,
  at: Instant,
): Promise<Page<ApiKeyRow>> {
  return listKeys(database, query, { at, oldest: maxLifeMs === null ? null : addMs(at, -maxLifeMs) })
}

export async function readApiKey(
  { database }: ApiKeyServicePorts,
  workspaceId: WorkspaceId,
  id: ApiKeyId,
): Promise<ApiKeyRow> {
  return assertFound(
    await keyById(database, { workspaceBizId: workspaceId, bizId: id }),
    'no such API key in this workspace',
  )
}

export function grantablePermissions({ permissions }: ApiKeyServicePorts, access: WorkspaceAccess): Permission[] {
  return permissions.filter((code) => access.permissions.has(code))
}

export interface CreateApiKeyInput {
  credential: RequestedCredential
  apiKeyName: string
  permissionCodes: string[]
  ipAllowlist: string[]
  expiresAt: Instant | null
}

/** Creates a key. The returned secret cannot be read again later. It is null for another credential. */
export async function createApiKey(
  ports: ApiKeyServicePorts,
  input: CreateApiKeyInput,
  { caller, auditContext, access }: ApiKeyContext,
): Promise<{ row: ApiKeyRow; secret: string | null }> {
  const { transaction, ids, members, notices, permissions, settings } = ports
  assertKnownPermissions(input.permissionCodes, permissions)
  const expiresAt = expiryOf(input.expiresAt, auditContext.at, settings)
  const { stored, secret } = createCredential('ptk', input.credential, ports)
  return transaction(async (tx) => {
    await members.assertAccess(tx, auditContext.accountId, access)
    await ports.assertSessionOpen(tx, caller)
    await members.assertMayGrant(tx, { caller, access, at: auditContext.at }, input.permissionCodes)
    if ((await countKeys(tx, access.id)) >= settings.maxPerWorkspace)
      throw conflict('the workspace has the maximum number of API keys')
    const owner = { bizId: ids.next<'apiKey'>(), workspaceBizId: access.id, createdBy: auditContext.accountId }
    const row = await insertKey(tx, { ...input, ...stored, ...owner, expiresAt }, auditContext.at)
    if (!row) throw conflict('another API key has this name', 'apiKeyName')
    const addresses = replacesWhitelist(row, settings) ? { replacesIpWhitelist: true } : {}
    const detail = { permissions: input.permissionCodes.join(','), ...addresses, ...auditedCredential(stored) }
    await recordSuccess(tx, auditContext, { workspaceId: access.id, targetId: row.bizId, detail })
    const notice = { kind: 'API_KEY_CREATED', workspaceId: access.id, actorId: auditContext.accountId } as const
    const gives = members.powerOf(input.permissionCodes)
    await notices.queue(tx, { ...notice, about: row.keyPrefix, gives, at: auditContext.at })
    return { row, secret }
  })
}

/** Also suspends disabled keys. */
export async function suspendApiKeys(tx: Tx, { accountId, at }: RecoveredAccount): Promise<number> {
  return (await suspendKeysOf(tx, accountId, at)) + (await suspendOperatorKeysOf(tx, accountId, at))
}

/**
 * Throws STATE.CONFLICT if the status does not allow the command, ACCESS.PERMISSION_DENIED to enable a key that an
 * operator disabled, and ACCESS.STEP_UP_REQUIRED to disable or delete a key of another member without a step-up.
 */
export function changeApiKeyStatus(
  { transaction, members, notices, settings, stepUpMs, assertSessionOpen }: ApiKeyServicePorts,
  { id, command }: { id: ApiKeyId; command: ApiKeyCommand },
  { caller, auditContext, access }: ApiKeyContext,
): Promise<ApiKeyRow> {
  return transaction(async (tx) => {
    // Serializes changes to the workspace's keys.
    await members.assertAccess(tx, auditContext.accountId, access)
    if (command === 'enable') await assertSessionOpen(tx, caller)
    const key = assertFound(
      await keyById(tx, { workspaceBizId: access.id, bizId: id }),
      'no such API key in this workspace',
    )
    // Enabling a key grants its permissions again, so the caller must hold them.
    const { accountId: actorId, at } = auditContext
    if (command === 'enable') await members.assertMayGrant(tx, { caller, access, at }, key.permissionCodes)
    assertStatus(statusAt(key, at, settings), command)
    // A stolen session must not end what other people use.
    if (command !== 'enable' && key.createdBy !== actorId) assertSteppedUp(caller, at, stepUpMs)
    const { operatorBizId, keyPrefix: about } = key
    if (command === 'enable') {
      assertNotDisabledByOperator(key)
      if (key.apiKeyStatus === 'SUSPENDED') await members.assertMayRestore(tx, actorId, access.id)
      const gives = members.powerOf(key.permissionCodes)
      await notices.queue(tx, { kind: 'API_KEY_ENABLED', workspaceId: access.id, actorId, about, gives, at })
    }
    const enabled = command === 'enable' ? { enabledBy: actorId } : {}
    const changed = await setStatus(tx, key, { apiKeyStatus: statusChanges[command].to, operatorBizId, ...enabled }, at)
    await recordSuccess(tx, auditContext, { workspaceId: access.id, targetId: id })
    return changed
  })
}
