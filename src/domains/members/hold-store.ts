import { sql } from 'kysely'
import type { Tx } from '../../database/index.ts'
import {
  type AccountId,
  type Instant,
  type Permission,
  type RoleId,
  toDate,
  type WorkspaceId,
} from '../../kernel/index.ts'

/** The permissions that a change of a membership adds. */
export interface Gain {
  payouts: readonly Permission[]
  becomesOwner: boolean
  /** Null if operators change the membership. */
  grantedBy: AccountId | null
}

const payoutsSince = (payouts: readonly Permission[], at: Instant): string =>
  JSON.stringify(Object.fromEntries(payouts.map((code) => [code, at])))

/** For a new row. */
export const newGainColumns = ({ payouts, becomesOwner, grantedBy }: Gain, at: Instant) => ({
  payouts_since: payoutsSince(payouts, at),
  ...(becomesOwner && { owner_since: toDate(at) }),
  granted_by: grantedBy,
  granted_at: toDate(at),
})

const withPayoutsSince = (payouts: readonly Permission[], at: Instant) =>
  sql<string>`payouts_since || ${payoutsSince(payouts, at)}::jsonb`

export const gainColumns = (gain: Gain, at: Instant) => ({
  ...newGainColumns(gain, at),
  payouts_since: withPayoutsSince(gain.payouts, at),
})

/** All members of the role gain the payout permissions. */
export const holdMembersOf = async (
  tx: Tx,
  { workspaceId, roleId }: { workspaceId: WorkspaceId; roleId: RoleId },
  payouts: readonly Permission[],
  at: Instant,
): Promise<void> => {
  await tx
    .updateTable('memberships')
    .set({ payouts_since: withPayoutsSince(payouts, at) })
    .where('workspace_biz_id', '=', workspaceId)
    .where('role_biz_id', '=', roleId)
    .execute()
}
