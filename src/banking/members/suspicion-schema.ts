import { type NullableTimestamp, sqlMigration, type Timestamp } from '../../database/index.ts'
import type { AccountId, WorkspaceId } from '../../kernel/index.ts'

/** Who held permissions that a recovered account gave, and from when until when. Includes the account itself. */
interface SuspicionsTable {
  recoveredBizId: AccountId
  recoveredAt: Timestamp
  /** Null for the recovered account: all workspaces. */
  workspaceBizId: WorkspaceId | null
  accountBizId: AccountId
  fromAt: Timestamp
  /** Null until somebody else has given the member a role. */
  untilAt: NullableTimestamp
}

declare module '../../database/tables.ts' {
  interface Tables {
    suspicions: SuspicionsTable
  }
}

/**
 * A log instead of the last grant of each pair: what a member gives depends on who gave to the member before.
 * `brought_in_by` stays for the previous release.
 */
export const suspicionMigration = sqlMigration('006-suspicions', [
  `ALTER TABLE membership_grants
    DROP CONSTRAINT membership_grants_pkey,
    ALTER COLUMN grantor_biz_id DROP NOT NULL,
    ADD COLUMN id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    ADD COLUMN by_role boolean NOT NULL DEFAULT false,
    ADD COLUMN revoked_at timestamptz`,
  `CREATE INDEX membership_grants_grantor ON membership_grants (grantor_biz_id, granted_at)`,
  `CREATE INDEX membership_grants_grantee ON membership_grants (workspace_biz_id, grantee_biz_id, id)`,
  // A role gives the member also what others have added to it.
  `CREATE OR REPLACE FUNCTION memberships_grant() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF NEW.granted_at IS NOT NULL AND (TG_OP = 'INSERT'
       OR (NEW.granted_by, NEW.granted_at) IS DISTINCT FROM (OLD.granted_by, OLD.granted_at)
       OR NEW.suspended_at IS DISTINCT FROM OLD.suspended_at) THEN
      INSERT INTO membership_grants (workspace_biz_id, grantor_biz_id, grantee_biz_id, granted_at)
      VALUES (NEW.workspace_biz_id, NEW.granted_by, NEW.account_biz_id, NEW.granted_at);
    END IF;
    INSERT INTO membership_grants (workspace_biz_id, grantor_biz_id, grantee_biz_id, granted_at, by_role)
    SELECT g.workspace_biz_id, g.granted_by, NEW.account_biz_id, max(g.granted_at), true
      FROM role_grants g JOIN roles r ON r.workspace_biz_id = g.workspace_biz_id AND r.biz_id = g.role_biz_id
     WHERE g.workspace_biz_id = NEW.workspace_biz_id AND g.role_biz_id = NEW.role_biz_id
       AND g.granted_by <> NEW.account_biz_id AND g.permission_code = ANY (r.permission_codes)
     GROUP BY g.workspace_biz_id, g.granted_by;
    RETURN NULL;
  END $$`,
  `DROP TRIGGER memberships_grant ON memberships`,
  `CREATE TRIGGER memberships_grant AFTER INSERT OR UPDATE OF role_biz_id, granted_by, granted_at ON memberships
    FOR EACH ROW EXECUTE FUNCTION memberships_grant()`,
  `CREATE TABLE suspicions (
    recovered_biz_id uuid NOT NULL,
    recovered_at timestamptz NOT NULL,
    workspace_biz_id uuid,
    account_biz_id uuid NOT NULL,
    from_at timestamptz NOT NULL,
    until_at timestamptz
  )`,
  `CREATE INDEX suspicions_recovered ON suspicions (recovered_biz_id, recovered_at)`,
  `CREATE INDEX suspicions_account ON suspicions (account_biz_id, workspace_biz_id)`,
  `CREATE INDEX suspicions_time ON suspicions (recovered_at)`,
  // Whether a suspicion of this recovery covers what the account did in the workspace at an instant.
  `CREATE FUNCTION is_suspect(recovered uuid, recovery timestamptz, workspace uuid, account uuid, at timestamptz)
  RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
      SELECT FROM suspicions s
      WHERE s.recovered_biz_id = recovered AND s.recovered_at = recovery AND s.account_biz_id = account
        AND (s.workspace_biz_id IS NULL OR s.workspace_biz_id = workspace)
        AND at BETWEEN s.from_at AND coalesce(s.until_at, 'infinity'))
  $$`,
  // Narrows the search to an index.
  `CREATE FUNCTION suspects_of(recovered uuid, recovery timestamptz) RETURNS uuid[] LANGUAGE sql STABLE AS $$
    SELECT coalesce(array_agg(DISTINCT account_biz_id), '{}') FROM suspicions
    WHERE recovered_biz_id = recovered AND recovered_at = recovery
  $$`,
])
