import type { Configuration } from '../../api/domain.ts'
import {
  addMs,
  days,
  type Instant,
  Refusal,
  type RoleId,
  type RoleType,
  rateLimited,
  type WorkspaceAccess,
} from '../../kernel/index.ts'

export interface OfferedRole {
  id: RoleId
  name: string
  type: RoleType
  permissionCodes: string[]
}

export interface ExhaustedLimit {
  name: 'invitations' | 'invitations-of-account' | 'invitations-to-address'
  limit: number
  /** Creation time of an earlier invitation. The next one is allowed one day later. */
  since: Instant
}

export type InvitationSettings = Configuration['access']['invitations']

export const limitPeriod = days(1)

export const lifeDays = ({ lifeMs }: InvitationSettings): number => lifeMs / days(1)

/** Invitations are limited because each one emails a stranger. */
export const assertWithinLimits = (
  { exhausted, pending }: { exhausted: ExhaustedLimit | null; pending: number },
  { maxPending }: InvitationSettings,
  at: Instant,
): void => {
  if (exhausted !== null) {
    const { name, limit, since } = exhausted
    throw rateLimited(addMs(since, limitPeriod) - at, 'daily limit of invitations', {
      name,
      limit,
      windowMs: limitPeriod,
    })
  }
  if (pending >= maxPending)
    throw new Refusal('STATE.CONFLICT', { internal: 'the maximum number of invitations is pending' })
}

const mayGrant = (access: WorkspaceAccess, role: OfferedRole): boolean => {
  const held: ReadonlySet<string> = access.permissions
  return role.type === 'OWNER' ? access.isOwner : role.permissionCodes.every((code) => held.has(code))
}

export const assertMayOffer = (access: WorkspaceAccess, role: OfferedRole): void => {
  if (!mayGrant(access, role))
    throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: 'the caller lacks a permission of the role' })
}

export const mayStillOffer = (access: WorkspaceAccess | undefined, role: OfferedRole): boolean =>
  access?.permissions.has('invitation:manage') === true && mayGrant(access, role)
