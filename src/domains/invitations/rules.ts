import { days, Refusal, type WorkspaceAccess } from '../../kernel/index.ts'
import type { OfferedRole } from './people-store.ts'

/** How long an invitation waits for its answer. */
export const lifeDays = 7
export const life = days(lifeDays)

/** What a workspace may send within a day: invitations are mails to strangers. */
const dailyLimit = { all: 200, toAddress: 5 }
export const limitPeriod = days(1)

export const requireWithinLimits = (made: { all: number; toAddress: number }): void => {
  if (made.all < dailyLimit.all && made.toAddress < dailyLimit.toAddress) return
  throw new Refusal('ACCESS.RATE_LIMITED', { internal: 'invitations of a day', retryAfter: limitPeriod / 1_000 })
}

/** Nobody offers what they lack, and only owners make owners. */
export const requireMayOffer = (by: WorkspaceAccess, role: OfferedRole): void => {
  const held: ReadonlySet<string> = by.permissions
  const lacking = role.type === 'OWNER' ? !by.isOwner : role.permissionCodes.some((code) => !held.has(code))
  if (lacking) throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: 'the role holds what the caller lacks' })
}
