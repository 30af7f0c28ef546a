import { addMs, type Instant, invalid, type Permission, Refusal, type WorkspaceAccess } from '../../kernel/index.ts'
import { covers, parseRange } from '../../platform/addresses/index.ts'
import type { ApiKeyStatus } from './contract.ts'

export interface ApiKeySettings {
  /** What a workspace may have of keys that are not deleted. */
  maxPerWorkspace: number
  /** Null: a key may live for ever. */
  maxLifeMs: number | null
}

/** When a new key ends: within the longest life that one may have, and at its end where nothing is asked for. */
export const endOf = (asked: Instant | null, at: Instant, { maxLifeMs }: ApiKeySettings): Instant | null => {
  const latest = maxLifeMs === null ? null : addMs(at, maxLifeMs)
  const end = asked ?? latest
  if (end !== null && (end <= at || (latest !== null && end > latest))) throw invalid('expiresAt')
  return end
}

/** A key as time has made it: what is not deleted expires. */
export const statusAt = (
  key: { status: Exclude<ApiKeyStatus, 'EXPIRED'>; expiresAt: Instant | null },
  at: Instant,
): ApiKeyStatus => (key.status !== 'DELETED' && key.expiresAt !== null && key.expiresAt <= at ? 'EXPIRED' : key.status)

/** Whether an address is on the list. */
export const isAllowedFrom = (allowlist: readonly string[], clientIp: string): boolean =>
  allowlist.some((entry) => covers(parseRange(entry), clientIp))

/** Nobody gives a key what they lack. */
export const requireMayGive = (by: WorkspaceAccess, permissionCodes: readonly string[]): void => {
  const held: ReadonlySet<string> = by.permissions
  const lacking = permissionCodes.find((code) => !held.has(code))
  if (lacking !== undefined) throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: `the caller lacks ${lacking}` })
}

/** What a key may do today: what it was given, as far as its creator still may. Keys own nothing. */
export const accessOf = (creator: WorkspaceAccess, permissionCodes: readonly string[]): WorkspaceAccess => ({
  id: creator.id,
  isOwner: false,
  permissions: new Set<Permission>([...creator.permissions].filter((code) => permissionCodes.includes(code))),
})
