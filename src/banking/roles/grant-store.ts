import { sql } from 'kysely'
import { type Tx, timestamptz } from '../../database/index.ts'
import { type AccountId, type Instant, type RoleId, toDate } from '../../kernel/index.ts'
import type { RoleKey } from './store.ts'

/** Records who added permissions to a role. */
export async function recordGrants(
  tx: Tx,
  { workspaceBizId, bizId }: RoleKey,
  permissionCodes: readonly string[],
  { grantedBy, at }: { grantedBy: AccountId; at: Instant },
): Promise<void> {
  if (permissionCodes.length === 0) return
  const granted = { grantedBy: grantedBy, grantedAt: toDate(at) }
  const role = { workspaceBizId, roleBizId: bizId }
  await tx
    .insertInto('role_grants')
    .values(permissionCodes.map((permissionCode) => ({ ...role, permissionCode, ...granted })))
    .onConflict((conflict) => conflict.columns(['workspaceBizId', 'roleBizId', 'permissionCode']).doUpdateSet(granted))
    .execute()
}

/**
 * Takes from roles the permissions that an account, a member whose permissions are from it, or such a member who is
 * suspended has added since an instant. Covers the workspaces of this recovery's suspicions. Returns the roles.
 */
export async function suspendGrantsOf(
  tx: Tx,
  { accountId, since, at }: { accountId: AccountId; since: Instant; at: Instant },
): Promise<RoleId[]> {
  const { rows } = await sql<{ id: RoleId }>`
    WITH granted AS (
      SELECT workspace_biz_id, role_biz_id, permission_code FROM role_grants
      WHERE granted_by = ${accountId} AND granted_at > ${timestamptz(since)}
      UNION
      SELECT g.workspace_biz_id, g.role_biz_id, g.permission_code FROM suspicions s
      JOIN role_grants g ON g.workspace_biz_id = s.workspace_biz_id AND g.granted_by = s.account_biz_id
      WHERE s.recovered_biz_id = ${accountId} AND s.recovered_at = ${timestamptz(at)}
        AND g.granted_at BETWEEN s.from_at AND coalesce(s.until_at, 'infinity')
      UNION
      SELECT g.workspace_biz_id, g.role_biz_id, g.permission_code FROM suspicions s
      JOIN memberships m USING (workspace_biz_id, account_biz_id)
      JOIN role_grants g ON g.workspace_biz_id = m.workspace_biz_id AND g.granted_by = m.account_biz_id
      WHERE s.recovered_biz_id = ${accountId} AND s.recovered_at = ${timestamptz(at)}
        AND m.suspended_at IS NOT NULL AND g.granted_at > ${timestamptz(since)}
    ), suspect AS (
      SELECT workspace_biz_id, role_biz_id, array_agg(permission_code) AS codes FROM granted GROUP BY 1, 2
    )
    UPDATE roles r SET
      permission_codes = ARRAY(SELECT code FROM unnest(r.permission_codes) code WHERE code <> ALL (s.codes)),
      suspended_codes = r.suspended_codes
        || ARRAY(SELECT code FROM unnest(r.permission_codes) code WHERE code = ANY (s.codes)),
      updated_at = ${timestamptz(at)}
    FROM suspect s
    WHERE r.workspace_biz_id = s.workspace_biz_id AND r.biz_id = s.role_biz_id AND r.permission_codes && s.codes
    RETURNING r.biz_id AS id`.execute(tx)
  return rows.map(({ id }) => id)
}
