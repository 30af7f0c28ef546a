import type { Configuration } from '../../config/index.ts'
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

/** A role that an invitation offers. */
export interface OfferedRole {
  id: RoleId
  name: string
  type: RoleType
  permissionCodes: string[]
}

/** A daily limit that has been reached. */
export interface ExhaustedLimit {
  name: 'invitations' | 'invitations-of-account' | 'invitations-to-address'
  limit: number
  /** The creation time of an invitation. The next invitation is allowed one day after it. */
  since: Instant
}

export type InvitationSettings = Configuration['access']['invitations']

/** Period of the daily limits. */
export const limitPeriod = days(1)

/** Lifetime of an invitation in days. */
export const lifeDays = ({ lifeMs }: InvitationSettings): number => lifeMs / days(1)

/**
 * Throws if a limit is reached: invitations per day, or pending invitations. The limits exist because each invitation
 * sends an e-mail to a stranger.
 */
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

/** Whether a member can grant the role: the member holds all of its permissions, and only an owner grants OWNER. */
const mayGrant = (access: WorkspaceAccess, role: OfferedRole): boolean => {
  const held: ReadonlySet<string> = access.permissions
  return role.type === 'OWNER' ? access.isOwner : role.permissionCodes.every((code) => held.has(code))
}

/** Throws if the inviter cannot grant the role. */
export const assertMayOffer = (access: WorkspaceAccess, role: OfferedRole): void => {
  if (!mayGrant(access, role))
    throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: 'the caller lacks a permission of the role' })
}

/** Whether the inviter could create the same invitation now, with their current access and the current role. */
export const mayStillOffer = (access: WorkspaceAccess | undefined, role: OfferedRole): boolean =>
  access?.permissions.has('invitation:manage') === true && mayGrant(access, role)
