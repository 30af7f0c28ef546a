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

/** A daily limit that is used up. */
export interface ExhaustedLimit {
  name: 'invitations' | 'invitations-of-account' | 'invitations-to-address'
  limit: number
  /** Creation of the invitation that has to be a day old before the next one is allowed. */
  since: Instant
}

export type InvitationSettings = Configuration['access']['invitations']

export const limitPeriod = days(1)

export const lifeDays = ({ lifeMs }: InvitationSettings): number => lifeMs / days(1)

/** Limits what a workspace sends within a day and what is pending: invitations are mails to strangers. */
export const assertWithinLimits = (
  { exhausted, pending }: { exhausted: ExhaustedLimit | null; pending: number },
  { maxPending }: InvitationSettings,
  at: Instant,
): void => {
  if (exhausted !== null) {
    const { name, limit, since } = exhausted
    throw rateLimited(addMs(since, limitPeriod) - at, 'invitations of a day', { name, limit, windowMs: limitPeriod })
  }
  if (pending >= maxPending)
    throw new Refusal('STATE.CONFLICT', { internal: 'the maximum number of invitations is pending' })
}

/** Nobody offers a permission that they lack, and only owners make owners. */
const mayGrant = (access: WorkspaceAccess, role: OfferedRole): boolean => {
  const held: ReadonlySet<string> = access.permissions
  return role.type === 'OWNER' ? access.isOwner : role.permissionCodes.every((code) => held.has(code))
}

export const assertMayOffer = (access: WorkspaceAccess, role: OfferedRole): void => {
  if (!mayGrant(access, role))
    throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: 'the role holds a permission that the caller lacks' })
}

/** Whether the inviter could make the invitation now, with their current access and the current role. */
export const mayStillOffer = (access: WorkspaceAccess | undefined, role: OfferedRole): boolean =>
  access?.permissions.has('invitation:manage') === true && mayGrant(access, role)
