import { addMs, days, type Instant, Refusal, rateLimited, type WorkspaceAccess } from '../../kernel/index.ts'
import type { FullLimit } from './count-store.ts'
import type { OfferedRole } from './people-store.ts'

export interface InvitationSettings {
  /** How long an invitation waits for its answer: whole days. */
  lifeMs: number
  maxPending: number
  maxPerDay: number
  maxPerDayToAddress: number
}

export const limitPeriod = days(1)

export const lifeDays = ({ lifeMs }: InvitationSettings): number => lifeMs / days(1)

/** What a workspace may send within a day, and have waiting: invitations are mails to strangers. */
export const requireWithinLimits = (
  { full, pending }: { full: FullLimit | null; pending: number },
  { maxPending }: InvitationSettings,
  at: Instant,
): void => {
  if (full !== null) {
    const { name, limit, since } = full
    throw rateLimited(addMs(since, limitPeriod) - at, 'invitations of a day', { name, limit, windowMs: limitPeriod })
  }
  if (pending >= maxPending) throw new Refusal('STATE.CONFLICT', { internal: 'as many wait as may' })
}

/** Nobody offers what they lack, and only owners make owners. */
const covers = (by: WorkspaceAccess, role: OfferedRole): boolean => {
  const held: ReadonlySet<string> = by.permissions
  return role.type === 'OWNER' ? by.isOwner : role.permissionCodes.every((code) => held.has(code))
}

export const requireMayOffer = (by: WorkspaceAccess, role: OfferedRole): void => {
  if (!covers(by, role))
    throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: 'the role holds what the caller lacks' })
}

/** Whether whoever made an invitation could make it today, with these rights and the role as it is now. */
export const mayStillOffer = (by: WorkspaceAccess | undefined, role: OfferedRole): boolean =>
  by?.permissions.has('invitation:manage') === true && covers(by, role)
