import { z } from 'zod'
import { lifetimeMs, positive } from '../../config/values.ts'
import {
  type AccountId,
  addMs,
  conflict,
  days,
  denied,
  type Instant,
  invalid,
  type Permission,
  type WorkspaceAccess,
} from '../../kernel/index.ts'
import { containsAddress, parseRange } from '../../platform/ip-ranges.ts'
import type { ApiKeyStatus } from './contract.ts'

export const apiKeySettings = z.strictObject({
  maxPerWorkspace: positive.describe(
    'Maximum number of API keys per workspace, not counting deleted keys. Creating a further key gets 409.',
  ),
  addressList: z
    .enum(['replace', 'narrow'])
    .describe(
      'How the `ipAllowlist` of an API key relates to the IP whitelist of the account that created it. With `replace`, the key works from its own addresses only, even if the whitelist excludes them. With `narrow`, an address must be on both lists. The setting also applies to existing keys.',
    ),
  // A null in a configuration file means the default.
  maxLifeMs: z
    .union([lifetimeMs(60_000), z.literal('off').transform(() => null)])
    .describe(
      'Maximum lifetime of an API key in milliseconds, which is also the default lifetime. It also applies to existing keys. With `off`, keys do not have to expire.',
    ),
})

export type ApiKeySettings = z.output<typeof apiKeySettings>

const maxOperatorLifeMs = days(365)

/** Keys of operators always expire. */
export function operatorKeySettings(settings: ApiKeySettings): ApiKeySettings & { maxLifeMs: number } {
  return { ...settings, maxLifeMs: Math.min(settings.maxLifeMs ?? maxOperatorLifeMs, maxOperatorLifeMs) }
}

/** Returns null if the key never expires. */
export function expiryOf(requested: Instant | null, at: Instant, { maxLifeMs }: ApiKeySettings): Instant | null {
  const latest = maxLifeMs === null ? null : addMs(at, maxLifeMs)
  const expiry = requested ?? latest
  if (expiry !== null && (expiry <= at || (latest !== null && expiry > latest))) throw invalid('expiresAt')
  return expiry
}

/** Days before the end of a key on which a mail announces it. */
export const warningDays = [1, 7, 30] as const
export type WarningDays = (typeof warningDays)[number]

export interface KeyLife {
  /** The stored expiry. Null if the key was created without a maximum lifetime. */
  expiresAt: Instant | null
  createdAt: Instant
}

/** The maximum lifetime also applies to keys that were created before it was configured. */
export function endOfLife({ expiresAt, createdAt }: KeyLife, { maxLifeMs }: ApiKeySettings): Instant | null {
  if (maxLifeMs === null) return expiresAt
  const latest = addMs(createdAt, maxLifeMs)
  return expiresAt === null || expiresAt > latest ? latest : expiresAt
}

export function statusAt(
  key: KeyLife & { apiKeyStatus: Exclude<ApiKeyStatus, 'EXPIRED'> },
  at: Instant,
  settings: ApiKeySettings,
): ApiKeyStatus {
  const end = endOfLife(key, settings)
  return key.apiKeyStatus !== 'DELETED' && end !== null && end <= at ? 'EXPIRED' : key.apiKeyStatus
}

/** Whether a key that is not deleted ends within the longest of `warningDays`. */
export function expiresSoon(key: Parameters<typeof statusAt>[0], at: Instant, settings: ApiKeySettings): boolean {
  const end = endOfLife(key, settings)
  const status = statusAt(key, at, settings)
  return status !== 'DELETED' && status !== 'EXPIRED' && end !== null && end <= addMs(at, days(warningDays[2]))
}

export const statusChanges = {
  enable: { from: ['DISABLED', 'SUSPENDED'], to: 'ACTIVE' },
  disable: { from: ['ACTIVE'], to: 'DISABLED' },
  delete: { from: ['ACTIVE', 'DISABLED', 'SUSPENDED', 'EXPIRED'], to: 'DELETED' },
} as const satisfies Record<string, { from: readonly ApiKeyStatus[]; to: ApiKeyStatus }>

export type ApiKeyCommand = keyof typeof statusChanges

export function assertStatus(current: ApiKeyStatus, command: ApiKeyCommand): void {
  if (!statusChanges[command].from.some((status) => status === current)) throw conflict(`the API key is ${current}`)
}

/** Only an operator enables what an operator disabled. */
export function assertNotDisabledByOperator({ operatorBizId }: { operatorBizId: AccountId | null }): void {
  if (operatorBizId !== null) throw denied('an operator disabled the API key')
}

export function isAllowedFrom(allowlist: readonly string[], clientIp: string): boolean {
  return allowlist.some((entry) => containsAddress(parseRange(entry), clientIp))
}

/** Whether requests with the key need not come from an address on its creator's IP whitelist. */
export function replacesWhitelist(
  { ipAllowlist }: { ipAllowlist: readonly string[] },
  { addressList }: ApiKeySettings,
): boolean {
  return addressList === 'replace' && ipAllowlist.length > 0
}

/** A key never acts as an owner. */
export function accessOf(creator: WorkspaceAccess, permissionCodes: readonly string[]): WorkspaceAccess {
  return {
    id: creator.id,
    isOwner: false,
    permissions: new Set<Permission>([...creator.permissions].filter((code) => permissionCodes.includes(code))),
  }
}
