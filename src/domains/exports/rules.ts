import { type Instant, type Permission, Refusal, toIso, type WorkspaceAccess } from '../../kernel/index.ts'
import type { ExportType } from './contract.ts'

/** The right that reading the list itself takes; one's own logins take none. */
const listRights: Record<ExportType, Permission | null> = {
  FLOWS: 'wallet:read',
  TRANSFERS: 'transfer:read',
  EXCHANGES: 'exchange:read',
  RECHARGES: 'recharge:read',
  WITHDRAWALS: 'withdrawal:read',
  LOGIN_HISTORY: null,
}

/** An export holds what its list holds, so it takes the list's right, when it is asked for and at each download. */
export const demandListRight = (type: ExportType, { permissions }: WorkspaceAccess): void => {
  const right = listRights[type]
  if (right !== null && !permissions.has(right))
    throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: `lacks ${right}` })
}

/** Such as `withdrawals-2026-01-31.csv`, by the day (UTC) on which it was asked for. */
export const exportName = (type: ExportType, createdAt: Instant, ending: string): string =>
  `${type.toLowerCase().replaceAll('_', '-')}-${toIso(createdAt).slice(0, 10)}.${ending}`
