import { sql } from 'kysely'
import { type Database, type Tx, timestamptz } from '../../database/index.ts'
import { type AccountId, type Instant, type RoleType, toDate, type WorkspaceId } from '../../kernel/index.ts'
import { type Gain, gainColumns } from './hold-store.ts'
import type { MembershipId } from './membership-store.ts'

export interface MembershipGrant {
  id: string
  workspaceId: WorkspaceId
  /** Null for operators. */
  grantorId: AccountId | null
  granteeId: AccountId
  at: Instant
  /** Whether the grantor added permissions to the member's role. */
  byRole: boolean
  isRevoked: boolean
}

/** Returns the grants since an instant in each workspace where an account has given permissions since, in order. */
export async function grantsAround(
  tx: Tx,
  { accountId, since }: { accountId: AccountId; since: Instant },
): Promise<MembershipGrant[]> {
  const { rows } = await sql<MembershipGrant>`
    SELECT id, workspace_biz_id AS "workspaceId", grantor_biz_id AS "grantorId", grantee_biz_id AS "granteeId",
           granted_at AS at, by_role, revoked_at IS NOT NULL AS "isRevoked"
    FROM membership_grants
    WHERE granted_at > ${timestamptz(since)} AND workspace_biz_id IN (
      SELECT workspace_biz_id FROM membership_grants
      WHERE grantor_biz_id = ${accountId} AND granted_at > ${timestamptz(since)})
    ORDER BY membership_grants.id`.execute(tx)
  return rows
}

export type FoundMember = MembershipId & { roleType: RoleType }

/** Returns the given accounts that are members and not suspended. */
export async function membersAmong(tx: Tx, members: readonly MembershipId[]): Promise<FoundMember[]> {
  const { rows } = await sql<FoundMember>`
    SELECT m.workspace_biz_id AS "workspaceId", m.account_biz_id AS "accountId", r.role_type
    FROM jsonb_to_recordset(${JSON.stringify(members)}::jsonb) AS s("workspaceId" uuid, "accountId" uuid)
    JOIN memberships m ON m.workspace_biz_id = s."workspaceId" AND m.account_biz_id = s."accountId"
    JOIN roles r ON r.workspace_biz_id = m.workspace_biz_id AND r.biz_id = m.role_biz_id
    WHERE m.suspended_at IS NULL
    ORDER BY m.workspace_biz_id, m.account_biz_id`.execute(tx)
  return rows
}

export async function revokeGrants(tx: Tx, ids: readonly string[], at: Instant): Promise<void> {
  await sql`UPDATE membership_grants SET revoked_at = ${timestamptz(at)}
    WHERE id = ANY (${ids}::bigint[]) AND revoked_at IS NULL`.execute(tx)
}

/** When an account held permissions that a recovered account gave. A null `until` has no end yet. */
export interface Suspicion {
  workspaceId: WorkspaceId | null
  accountId: AccountId
  from: Instant
  until: Instant | null
}

export async function storeSuspicions(
  tx: Tx,
  { accountId, at }: { accountId: AccountId; at: Instant },
  suspicions: readonly Suspicion[],
): Promise<void> {
  await tx
    .insertInto('suspicions')
    .values(
      suspicions.map((suspicion) => ({
        recoveredBizId: accountId,
        recoveredAt: toDate(at),
        workspaceBizId: suspicion.workspaceId,
        accountBizId: suspicion.accountId,
        fromAt: toDate(suspicion.from),
        untilAt: suspicion.until === null ? null : toDate(suspicion.until),
      })),
    )
    .execute()
}

/** Whether the member's permissions are from an account that was recovered since, and from nobody else. */
export async function isSuspect(tx: Tx, { workspaceId, accountId }: MembershipId): Promise<boolean> {
  const { rows } = await sql<{ isSuspect: boolean }>`
    SELECT EXISTS (
      SELECT FROM suspicions s
      WHERE s.account_biz_id = ${accountId} AND s.workspace_biz_id = ${workspaceId} AND s.until_at IS NULL
        AND NOT EXISTS (
          SELECT FROM membership_grants g
          WHERE g.workspace_biz_id = s.workspace_biz_id AND g.grantee_biz_id = s.account_biz_id
            AND NOT g.by_role AND g.revoked_at IS NULL AND g.granted_at >= s.recovered_at)
    ) AS "isSuspect"`.execute(tx)
  return rows[0]?.isSuspect !== false
}

export async function suspendMembership(tx: Tx, { workspaceId, accountId }: MembershipId, at: Instant): Promise<void> {
  await tx
    .updateTable('memberships')
    .set({ suspendedAt: toDate(at), isDefault: false, updatedAt: toDate(at) })
    .where('accountBizId', '=', accountId)
    .where('workspaceBizId', '=', workspaceId)
    .execute()
}

/** Returns false if the membership is not suspended. */
export async function restoreMembership(
  tx: Tx,
  { workspaceId, accountId }: MembershipId,
  gain: Gain,
  at: Instant,
): Promise<boolean> {
  const restored = await tx
    .updateTable('memberships')
    .set({ suspendedAt: null, updatedAt: toDate(at), ...gainColumns(gain, at) })
    .where('accountBizId', '=', accountId)
    .where('workspaceBizId', '=', workspaceId)
    .where('suspendedAt', 'is not', null)
    .returning('accountBizId')
    .executeTakeFirst()
  return restored !== undefined
}

/** Deletes the grants and suspicions before an instant. No recovery looks back that far. */
export async function deleteGrantsBefore(database: Database, at: Instant): Promise<void> {
  await sql`DELETE FROM membership_grants WHERE granted_at <= ${timestamptz(at)}`.execute(database)
  await sql`DELETE FROM suspicions WHERE recovered_at <= ${timestamptz(at)}`.execute(database)
}
