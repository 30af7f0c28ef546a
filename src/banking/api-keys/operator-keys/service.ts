import {
  assertKnownPermissions,
  operatorKeyPermissions,
  provisioningPermission,
} from '../../../contract/permissions.ts'
import {
  assertFound,
  type Caller,
  conflict,
  denied,
  type Instant,
  invalid,
  type Page,
  Refusal,
} from '../../../kernel/index.ts'
import { type AuditContext, recordSuccess } from '../../../platform/audit/index.ts'
import { auditedCredential, createCredential, type RequestedCredential } from '../credentials.ts'
import { type ApiKeyCommand, assertStatus, expiryOf, operatorKeySettings, statusAt, statusChanges } from '../rules.ts'
import type { ApiKeyServicePorts } from '../service.ts'
import { queueOperatorNotices } from './notices.ts'
import {
  countOperatorKeys,
  insertOperatorKey,
  listOperatorKeys as listKeys,
  lockKeys,
  lockOperator,
  lockOperatorKey,
  type OperatorKeyId,
  type OperatorKeyQuery,
  type OperatorKeyRow,
  operatorById,
  setOperatorKeyStatus,
} from './store.ts'

/*
 * API keys of operators. A key gives its holder permissions without a person, so two operators decide: one creates the
 * key, and another one enables it.
 */

type Ports = Pick<
  ApiKeyServicePorts,
  'database' | 'transaction' | 'ids' | 'randomness' | 'digest' | 'settings' | 'assertSessionOpen' | 'providers'
>

interface Context {
  caller: Caller
  auditContext: AuditContext
}

export function listOperatorKeys(ports: Ports, query: OperatorKeyQuery, at: Instant): Promise<Page<OperatorKeyRow>> {
  return listKeys(ports.database, query, { at, maxLifeMs: operatorKeySettings(ports.settings).maxLifeMs })
}

export interface CreateOperatorKeyInput {
  credential: RequestedCredential
  apiKeyName: string
  permissionCodes: string[]
  ipAllowlist: string[]
  /** Undefined for a time outside the years 1 to 9999. */
  expiresAt: Instant | undefined
  providerId: string | null
}

/** The key is disabled. The returned secret cannot be read again later. It is null for another credential. */
export function createOperatorKey(
  ports: Ports,
  input: CreateOperatorKeyInput,
  context: Context,
): Promise<{ row: OperatorKeyRow; secret: string | null }> {
  const { ids, settings } = ports
  const { at, accountId: createdBy } = context.auditContext
  assertKnownPermissions(input.permissionCodes, operatorKeyPermissions)
  assertProvider(ports, input)
  const expiresAt = input.expiresAt && expiryOf(input.expiresAt, at, operatorKeySettings(settings))
  if (!expiresAt) throw invalid('expiresAt')
  const { credential, ...named } = input
  const { stored, secret } = createCredential('pok', credential, ports)
  return ports.transaction(async (tx) => {
    await lockKeys(tx)
    await ports.assertSessionOpen(tx, context.caller)
    const actor = await lockActor(tx, context)
    assertHolds(actor, context.caller, input.permissionCodes)
    if ((await countOperatorKeys(tx)) >= settings.maxPerWorkspace) throw conflict('the maximum number of keys exists')
    const owner = { bizId: ids.next<'operatorApiKey'>(), createdBy, expiresAt }
    const row = await insertOperatorKey(tx, { ...named, ...stored, ...owner }, at)
    if (!row) throw conflict('another API key has this name', 'apiKeyName')
    const { permissionCodes, providerId } = input
    const detail = {
      permissions: permissionCodes.join(','),
      ...(providerId !== null && { provider: providerId }),
      ...auditedCredential(stored),
    }
    await recordSuccess(tx, context.auditContext, { workspaceId: null, targetId: row.bizId, detail })
    await queueOperatorNotices(tx, ids, { key: row, change: 'create', operator: actor.email }, at)
    return { row, secret }
  })
}

/** Throws ACCESS.PERMISSION_DENIED to enable a key that the same person created, or with a permission the caller lacks. */
export function changeOperatorKey(
  ports: Ports,
  { id, command, reason }: { id: OperatorKeyId; command: ApiKeyCommand; reason: string },
  context: Context,
): Promise<OperatorKeyRow> {
  const { at, accountId } = context.auditContext
  return ports.transaction(async (tx) => {
    await lockKeys(tx)
    if (command === 'enable') await ports.assertSessionOpen(tx, context.caller)
    const actor = await lockActor(tx, context)
    const key = assertFound(await lockOperatorKey(tx, id), 'no such API key of operators')
    assertStatus(statusAt(key, at, operatorKeySettings(ports.settings)), command)
    if (command === 'enable') {
      assertHolds(actor, context.caller, key.permissionCodes)
      const creator = await operatorById(tx, key.createdBy)
      if (creator?.personKey === actor.personKey) throw denied('another operator must enable the API key')
    }
    const enabled = command === 'enable' ? { enabledBy: accountId } : {}
    const changed = await setOperatorKeyStatus(tx, id, { apiKeyStatus: statusChanges[command].to, ...enabled }, at)
    await recordSuccess(tx, context.auditContext, { workspaceId: null, targetId: id, detail: { reason } })
    await queueOperatorNotices(tx, ports.ids, { key: changed, change: command, operator: actor.email }, at)
    return changed
  })
}

/** A program that provisions people must not read the audit log, too. */
function assertProvider(
  { providers }: Pick<Ports, 'providers'>,
  { permissionCodes, providerId }: Pick<CreateOperatorKeyInput, 'permissionCodes' | 'providerId'>,
): void {
  const provisions = permissionCodes.includes(provisioningPermission)
  if (provisions && permissionCodes.length > 1) throw invalid('permissionCodes', 'provisions and has other permissions')
  if (provisions !== (providerId !== null)) throw invalid('providerId', 'belongs to a key that provisions')
  if (providerId !== null && !providers.some(({ id }) => id === providerId))
    throw invalid('providerId', 'no such identity provider')
}

/** The permission may have been revoked since the request was authorized. */
async function lockActor(tx: Parameters<typeof lockOperator>[0], { auditContext }: Context) {
  const actor = await lockOperator(tx, auditContext.accountId)
  if (!actor?.permissions.includes('operator-key:manage')) throw denied('lacks operator-key:manage, or is not active')
  return actor
}

/** Nobody grants what they or their session lack. */
function assertHolds(
  { permissions }: { permissions: readonly string[] },
  { withheld = new Set() }: Pick<Caller, 'withheld'>,
  codes: readonly string[],
): void {
  if (!codes.every((code) => permissions.includes(code))) throw denied('the operator lacks a permission of the key')
  if ([...withheld].some((code) => codes.includes(code)))
    throw new Refusal('ACCESS.PASSKEY_REQUIRED', { internal: 'the session lacks a permission of the key' })
}
