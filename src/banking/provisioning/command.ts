import type { z } from 'zod'
import type { DomainPorts } from '../../api/domain.ts'
import { provisioningPermission } from '../../contract/permissions.ts'
import type { Database, Tx } from '../../database/index.ts'
import {
  type AccountId,
  type Caller,
  conflict,
  denied,
  type Ids,
  type Instant,
  type Permission,
  Refusal,
  type SessionId,
} from '../../kernel/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'
import { groupsOf } from './group-store.ts'
import type { provisioningSettings } from './rules.ts'
import { hasManager, lockOperators, lockProvider, type OperatorRow, type Store } from './store.ts'

/*
 * Every command of an identity provider runs for the provider of its API key, one at a time, and never removes the last
 * operator who can manage operators.
 */

export interface ProvisioningPorts {
  database: Database
  transaction: DomainPorts['transaction']
  ids: Ids
  settings: z.output<typeof provisioningSettings>
  providers: DomainPorts['deployment']['identityProviders']
  keys: {
    /** The provider of an active API key. Locks the key in a transaction. Returns undefined for other keys. */
    providerOf(store: Database, apiKeyId: string | null): Promise<string | undefined>
    lockProviderOf(tx: Tx, apiKeyId: string | null): Promise<string | undefined>
  }
  endSessions: DomainPorts['sessions']['end']
  applyProviderRights(
    tx: Tx,
    rights: { accountId: AccountId; to: readonly Permission[]; reason: string; at: Instant },
  ): Promise<void>
  /** Called after the commit. */
  onSessionsEnded(ids: readonly SessionId[]): void
}

export type Provider = ProvisioningPorts['providers'][number]

export interface CommandContext {
  caller: Caller
  auditContext: AuditContext
}

/** Throws ACCESS.PERMISSION_DENIED for a key without a provider, or of a provider that is not configured any more. */
export async function providerOf(ports: ProvisioningPorts, { apiKeyId }: Caller): Promise<Provider> {
  return configured(ports, await ports.keys.providerOf(ports.database, apiKeyId))
}

export interface Command {
  tx: Tx
  provider: Provider
  at: Instant
  /** Locks the operators. Call it once, before the accounts change. */
  lock(ids: readonly AccountId[]): Promise<readonly OperatorRow[]>
  endSessions(id: AccountId): Promise<void>
  /** Applies the roles of the person's groups, or removes all permissions. */
  applyGroups(id: AccountId, isActive: boolean): Promise<void>
  record(targetId: string, detail: Readonly<Record<string, string | number>>): Promise<void>
}

export async function runCommand<T>(
  ports: ProvisioningPorts,
  { caller, auditContext }: CommandContext,
  work: (command: Command) => Promise<T>,
): Promise<T> {
  const provider = await providerOf(ports, caller)
  const { at } = auditContext
  const { result, ended } = await ports.transaction(async (tx) => {
    const ended: SessionId[] = []
    let hadManager = false
    await lockProvider(tx, provider.id)
    const result = await work({
      tx,
      provider,
      at,
      lock: async (ids) => {
        const operators = await lockOperators(tx, [caller.accountId, ...ids])
        hadManager = await hasManager(tx)
        await assertMayProvision(ports, tx, caller, provider, operators)
        return operators
      },
      endSessions: async (id) => {
        ended.push(...(await ports.endSessions(tx, { portal: 'SYSTEM', id }, 'ACCOUNT_CLOSED', at)))
      },
      applyGroups: (id, isActive) => applyGroups(ports, { tx, provider, at }, id, isActive),
      record: (targetId, detail) =>
        recordSuccess(tx, auditContext, { workspaceId: null, targetId, detail: { provider: provider.id, ...detail } }),
    })
    if (hadManager && !(await hasManager(tx)))
      throw conflict('the last active operator who can manage operators would lose this right')
    return { result, ended }
  })
  ports.onSessionsEnded(ended)
  return result
}

async function applyGroups(
  ports: Pick<ProvisioningPorts, 'applyProviderRights'>,
  { tx, provider, at }: Pick<Command, 'tx' | 'provider' | 'at'>,
  accountId: AccountId,
  isActive: boolean,
): Promise<void> {
  const names = isActive ? await groupNames(tx, provider, accountId) : []
  const to = isActive ? provider.permissionsOf(names) : []
  // Without the setting `groups`, the provider gives no roles, and operators grant permissions themselves.
  if (to !== null) await ports.applyProviderRights(tx, { accountId, to, reason: `SCIM: ${provider.id}`, at })
}

async function groupNames(store: Store, { id }: Provider, accountId: AccountId): Promise<string[]> {
  const groups = await groupsOf(store, id, accountId)
  return groups.flatMap(({ displayName, externalId }) => [displayName, ...(externalId === null ? [] : [externalId])])
}

/** The key or the right of its creator may have ended since the request was authenticated. */
async function assertMayProvision(
  ports: ProvisioningPorts,
  tx: Tx,
  { accountId, apiKeyId }: Caller,
  provider: Provider,
  operators: readonly OperatorRow[],
): Promise<void> {
  const creator = operators.find(({ id }) => id === accountId)
  if (creator?.status !== 'ACTIVE')
    throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'the creator of the API key is not active' })
  if (!creator.permissions.includes(provisioningPermission)) throw denied(`the creator lacks ${provisioningPermission}`)
  if ((await ports.keys.lockProviderOf(tx, apiKeyId)) !== provider.id)
    throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'the API key has just ended' })
}

function configured({ providers }: ProvisioningPorts, id: string | undefined): Provider {
  const found = providers.find((provider) => provider.id === id)
  if (!found) throw denied('the identity provider of the API key is not configured')
  return found
}
