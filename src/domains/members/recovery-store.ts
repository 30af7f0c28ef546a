import { sql } from 'kysely'
import { type Database, type Tx, timestamptz } from '../../database/index.ts'
import { type AccountId, type Instant, type RoleType, toDate } from '../../kernel/index.ts'
import { type Gain, gainColumns } from './hold-store.ts'
import type { MembershipId } from './membership-store.ts'

/**
 * Returns the members whom an account has brought in since an instant, and those whom these have brought in, also if a
 * member between them has left or has got its permissions from another one since.
 */
export const membersBroughtInBy = async (
  tx: Tx,
  { accountId, since }: { accountId: AccountId; since: Instant },
): Promise<(MembershipId & { roleType: RoleType })[]> => {
  const { rows } = await sql<MembershipId & { roleType: RoleType }>`
    SELECT m.workspace_biz_id AS "workspaceId", m.account_biz_id AS "accountId", r.role_type AS "roleType"
    FROM brought_in_by(${accountId}, ${timestamptz(since)})
    JOIN memberships m USING (workspace_biz_id, account_biz_id)
    JOIN roles r ON r.workspace_biz_id = m.workspace_biz_id AND r.biz_id = m.role_biz_id
    WHERE m.account_biz_id <> ${accountId} AND m.suspended_at IS NULL
    ORDER BY m.workspace_biz_id, m.account_biz_id`.execute(tx)
  return rows
}

export const suspendMembership = async (
  tx: Tx,
  { workspaceId, accountId }: MembershipId,
  at: Instant,
): Promise<void> => {
  await tx
    .updateTable('memberships')
    .set({ suspended_at: toDate(at), is_default: false, updated_at: toDate(at) })
    .where('account_biz_id', '=', accountId)
    .where('workspace_biz_id', '=', workspaceId)
    .execute()
}

/** Returns false if the membership is not suspended. */
export const restoreMembership = async (
  tx: Tx,
  { workspaceId, accountId }: MembershipId,
  gain: Gain,
  at: Instant,
): Promise<boolean> => {
  const restored = await tx
    .updateTable('memberships')
    .set({ suspended_at: null, updated_at: toDate(at), ...gainColumns(gain, at) })
    .where('account_biz_id', '=', accountId)
    .where('workspace_biz_id', '=', workspaceId)
    .where('suspended_at', 'is not', null)
    .returning('account_biz_id')
    .executeTakeFirst()
  return restored !== undefined
}

/** Deletes the grants before an instant. No recovery looks back that far. */
export const deleteGrantsBefore = async (database: Database, at: Instant): Promise<void> => {
  await sql`DELETE FROM membership_grants WHERE granted_at <= ${timestamptz(at)}`.execute(database)
}
