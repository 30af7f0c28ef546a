import { type Instant, type Permission, Refusal, toIso, type WorkspaceAccess } from '../../kernel/index.ts'
import type { ExportType } from './contract.ts'

/** The permission to read each list. A person's own logins need none. */
const listPermissions: Record<ExportType, Permission | null> = {
  FLOWS: 'wallet:read',
  TRANSFERS: 'transfer:read',
  EXCHANGES: 'exchange:read',
  RECHARGES: 'recharge:read',
  WITHDRAWALS: 'withdrawal:read',
  LOGIN_HISTORY: null,
}

/** An export needs the permission of its list, when it is created and at each download. */
export const assertListPermission = (type: ExportType, { permissions }: WorkspaceAccess): void => {
  const required = listPermissions[type]
  if (required !== null && !permissions.has(required))
    throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: `lacks ${required}` })
}

/** A file name such as `withdrawals-2026-01-31.csv`, with the day (UTC) of the request. */
export const exportName = (type: ExportType, createdAt: Instant, ending: string): string =>
  `${type.toLowerCase().replaceAll('_', '-')}-${toIso(createdAt).slice(0, 10)}.${ending}`
