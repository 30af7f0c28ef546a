import { sql } from 'kysely'
import { type Tx, timestamptz } from '../../database/index.ts'
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

/** For a new row. */
export function newGainColumns({ payouts, becomesOwner, grantedBy }: Gain, at: Instant) {
  return {
    payoutsSince: payoutsSince(payouts, at),
    ...(becomesOwner && { ownerSince: toDate(at) }),
    grantedBy: grantedBy,
    grantedAt: toDate(at),
  }
}

export function gainColumns(gain: Gain, at: Instant) {
  return {
    ...newGainColumns(gain, at),
    payoutsSince: withPayoutsSince(gain.payouts, at),
  }
}

/** All members of the role gain the payout permissions. */
export async function holdMembersOf(
  tx: Tx,
  { workspaceId, roleId }: { workspaceId: WorkspaceId; roleId: RoleId },
  payouts: readonly Permission[],
  at: Instant,
): Promise<void> {
  await tx
    .updateTable('memberships')
    .set({ payoutsSince: withPayoutsSince(payouts, at) })
    .where('workspaceBizId', '=', workspaceId)
    .where('roleBizId', '=', roleId)
    .execute()
}

/** In every workspace of the account. */
export async function holdPayoutsOf(
  tx: Tx,
  accountId: AccountId,
  payouts: readonly Permission[],
  at: Instant,
): Promise<void> {
  await tx
    .updateTable('memberships')
    .set({ payoutsSince: withPayoutsSince(payouts, at) })
    .where('accountBizId', '=', accountId)
    .execute()
}

/**
 * Records that a member has added permissions to a role. Repeated additions keep one row per member of the role, unless
 * the grantor or the member has been given other permissions in between.
 */
export async function recordGrowth(
  tx: Tx,
  { workspaceId, roleId }: { workspaceId: WorkspaceId; roleId: RoleId },
  { grantedBy, at }: { grantedBy: AccountId; at: Instant },
): Promise<void> {
  await sql`
    WITH gained AS (
      SELECT account_biz_id FROM memberships
      WHERE workspace_biz_id = ${workspaceId} AND role_biz_id = ${roleId} AND account_biz_id <> ${grantedBy}
    ), repeated AS (
      UPDATE membership_grants g SET granted_at = ${timestamptz(at)} FROM gained
      WHERE g.workspace_biz_id = ${workspaceId} AND g.grantee_biz_id = gained.account_biz_id
        AND g.grantor_biz_id = ${grantedBy} AND g.by_role AND g.revoked_at IS NULL
        AND NOT EXISTS (
          SELECT FROM membership_grants later
          WHERE later.workspace_biz_id = g.workspace_biz_id AND later.id > g.id
            AND (later.grantee_biz_id = g.grantor_biz_id OR later.grantee_biz_id = g.grantee_biz_id AND NOT later.by_role))
      RETURNING g.grantee_biz_id
    )
    INSERT INTO membership_grants (workspace_biz_id, grantor_biz_id, grantee_biz_id, granted_at, by_role)
    SELECT ${workspaceId}, ${grantedBy}, account_biz_id, ${timestamptz(at)}, true FROM gained
    WHERE account_biz_id NOT IN (SELECT grantee_biz_id FROM repeated)`.execute(tx)
}

function payoutsSince(payouts: readonly Permission[], at: Instant): string {
  return JSON.stringify(Object.fromEntries(payouts.map((code) => [code, at])))
}

function withPayoutsSince(payouts: readonly Permission[], at: Instant) {
  return sql<string>`payouts_since || ${payoutsSince(payouts, at)}::jsonb`
}
