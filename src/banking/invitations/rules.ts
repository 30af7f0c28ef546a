import type { Configuration } from '../../api/domain.ts'
import type { Grant } from '../../contract/permissions.ts'
import { addMs, days, type Instant, Refusal, type RoleId, rateLimited } from '../../kernel/index.ts'

export interface OfferedRole extends Grant {
  id: RoleId
  name: string
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
