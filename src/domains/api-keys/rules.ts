import type { Configuration } from '../../config/index.ts'
import { addMs, type Instant, invalid, type Permission, Refusal, type WorkspaceAccess } from '../../kernel/index.ts'
import { containsAddress, parseRange } from '../../platform/ip-ranges.ts'
import type { ApiKeyStatus } from './contract.ts'

export type ApiKeySettings = Configuration['access']['apiKeys']

/**
 * Returns the expiry of a new key: the requested one, or else the end of the maximum lifetime. Returns null if the key
 * never expires. Throws if the requested expiry is in the past or beyond the maximum lifetime.
 */
export const expiryOf = (requested: Instant | null, at: Instant, { maxLifeMs }: ApiKeySettings): Instant | null => {
  const latest = maxLifeMs === null ? null : addMs(at, maxLifeMs)
  const expiry = requested ?? latest
  if (expiry !== null && (expiry <= at || (latest !== null && expiry > latest))) throw invalid('expiresAt')
  return expiry
}

/** Returns the status of a key at an instant. EXPIRED is computed from `expiresAt` and never stored. */
export const statusAt = (
  key: { status: Exclude<ApiKeyStatus, 'EXPIRED'>; expiresAt: Instant | null },
  at: Instant,
): ApiKeyStatus => (key.status !== 'DELETED' && key.expiresAt !== null && key.expiresAt <= at ? 'EXPIRED' : key.status)

/** The status that each command requires, and the status that it sets. */
export const statusChanges = {
  enable: { from: ['DISABLED'], to: 'ACTIVE' },
  disable: { from: ['ACTIVE'], to: 'DISABLED' },
  delete: { from: ['ACTIVE', 'DISABLED', 'EXPIRED'], to: 'DELETED' },
} as const satisfies Record<string, { from: readonly ApiKeyStatus[]; to: ApiKeyStatus }>

export type ApiKeyCommand = keyof typeof statusChanges

/** Refuses a command that the current status does not allow. */
export const assertStatus = (current: ApiKeyStatus, command: ApiKeyCommand): void => {
  if (!statusChanges[command].from.some((status) => status === current))
    throw new Refusal('STATE.CONFLICT', { internal: `the API key is ${current}` })
}

/** Whether the allowlist contains the address. */
export const isAllowedFrom = (allowlist: readonly string[], clientIp: string): boolean =>
  allowlist.some((entry) => containsAddress(parseRange(entry), clientIp))

/** Throws if the caller lacks one of the permissions to grant. */
export const assertMayGrant = (access: WorkspaceAccess, permissionCodes: readonly string[]): void => {
  const held: ReadonlySet<string> = access.permissions
  const lacking = permissionCodes.find((code) => !held.has(code))
  if (lacking !== undefined) throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: `the caller lacks ${lacking}` })
}

/** Returns the access of a key: the permissions that both the key and its creator hold. A key is never an owner. */
export const accessOf = (creator: WorkspaceAccess, permissionCodes: readonly string[]): WorkspaceAccess => ({
  id: creator.id,
  isOwner: false,
  permissions: new Set<Permission>([...creator.permissions].filter((code) => permissionCodes.includes(code))),
})
