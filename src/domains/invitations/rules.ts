import { days, Refusal, type WorkspaceAccess } from '../../kernel/index.ts'
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
  made: { all: number; toAddress: number; pending: number },
  { maxPerDay, maxPerDayToAddress, maxPending }: InvitationSettings,
): void => {
  if (made.all >= maxPerDay || made.toAddress >= maxPerDayToAddress) {
    throw new Refusal('ACCESS.RATE_LIMITED', { internal: 'invitations of a day', retryAfter: limitPeriod / 1_000 })
  }
  if (made.pending >= maxPending) throw new Refusal('STATE.CONFLICT', { internal: 'as many wait as may' })
}

/** Nobody offers what they lack, and only owners make owners. */
export const requireMayOffer = (by: WorkspaceAccess, role: OfferedRole): void => {
  const held: ReadonlySet<string> = by.permissions
  const lacking = role.type === 'OWNER' ? !by.isOwner : role.permissionCodes.some((code) => !held.has(code))
  if (lacking) throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: 'the role holds what the caller lacks' })
}
