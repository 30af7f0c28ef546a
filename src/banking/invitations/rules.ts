import { z } from 'zod'
import { lifetimeMs, positive } from '../../config/values.ts'
import type { Grant } from '../../contract/permissions.ts'
import { addMs, conflict, days, type Instant, type RoleId, rateLimited } from '../../kernel/index.ts'

export interface OfferedRole extends Grant {
  bizId: RoleId
  roleName: string
}

export interface ExhaustedLimit {
  name: 'invitations' | 'invitations-of-account' | 'invitations-to-address'
  limit: number
  /** Creation time of an earlier invitation. The next one is allowed one day later. */
  since: Instant
}

export const invitationSettings = z.strictObject({
  lifeMs: lifetimeMs(days(1))
    .multipleOf(days(1))
    .describe('Lifetime of an invitation in milliseconds. The value must be a whole number of days.'),
  maxPending: positive
    .max(500)
    .describe('Maximum number of pending invitations per workspace. Further invitations get 409.'),
  maxPerDay: positive.describe(
    'Maximum number of invitations within 24 hours. It applies to each workspace, and to each inviting account across all workspaces, including those it has left. Further invitations get 429.',
  ),
  maxPerDayToAddress: positive.describe(
    'Maximum number of invitations within 24 hours from one workspace or one inviting account to the same address. Further invitations get 429.',
  ),
})

export type InvitationSettings = z.output<typeof invitationSettings>

export const limitPeriod = days(1)

export function lifeDays({ lifeMs }: InvitationSettings): number {
  return lifeMs / days(1)
}

/** Invitations are limited because each one emails a stranger. */
export function assertWithinLimits(
  { exhausted, pending }: { exhausted: ExhaustedLimit | null; pending: number },
  { maxPending }: InvitationSettings,
  at: Instant,
): void {
  if (exhausted !== null) {
    const { name, limit, since } = exhausted
    throw rateLimited(addMs(since, limitPeriod) - at, 'daily limit of invitations', {
      name,
      limit,
      windowMs: limitPeriod,
    })
  }
  if (pending >= maxPending) throw conflict('the maximum number of invitations is pending')
}
