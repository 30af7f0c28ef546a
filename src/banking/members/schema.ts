import type { ColumnType, Generated } from 'kysely'
import { type Json, type NullableTimestamp, sqlMigration, type Timestamp } from '../../database/index.ts'
import type { AccountId, RoleId, WorkspaceId } from '../../kernel/index.ts'
import { recordChanges } from '../../platform/events/index.ts'
import type { JoinSource } from './contract.ts'
import { suspicionMigration } from './suspicion-schema.ts'

export interface MembershipsTable {
  workspaceBizId: WorkspaceId
  accountBizId: AccountId
  roleBizId: RoleId
  joinSource: JoinSource
  isDefault: boolean
  policyConfig: Json | null
  /** Stays set after a demotion. Null for a founder, and if the member never became OWNER. */
  ownerSince: NullableTimestamp
  /** By payout permission: when the member last gained it, in milliseconds since the epoch. Empty for a founder. */
  payoutsSince: ColumnType<unknown, string | undefined, string>
  /** Who brought the member in or last gave it more permissions. Null for a founder and for operators. */
  grantedBy: AccountId | null
  grantedAt: NullableTimestamp
  /** Set by the recovery of an account that brought the member in, until another member restores it. */
  suspendedAt: NullableTimestamp
  createdAt: Timestamp
  updatedAt: Timestamp
}

/** Who gave permissions to whom, in order. Keeps what `memberships` forgets if members leave or change again. */
interface MembershipGrantsTable {
  id: Generated<string>
  workspaceBizId: WorkspaceId
  /** Null for operators. */
  grantorBizId: AccountId | null
  granteeBizId: AccountId
  grantedAt: Timestamp
  /** Whether the grantor added permissions to the member's role, instead of giving the member a role. */
  byRole: Generated<boolean>
  /** When the recovery of an account suspended what the grant gave. */
  revokedAt: NullableTimestamp
}

interface FormerMembershipLimitsTable {
  workspaceBizId: WorkspaceId
  accountBizId: AccountId
  policyConfig: Json
}

interface FormerMembershipsTable {
  workspaceBizId: WorkspaceId
  accountBizId: AccountId
  endedAt: Timestamp
}

declare module '../../database/tables.ts' {
  interface Tables {
    memberships: MembershipsTable
    membership_grants: MembershipGrantsTable
    former_membership_limits: FormerMembershipLimitsTable
    former_memberships: FormerMembershipsTable
  }
}

export const migrations = [
  sqlMigration('001-baseline', [
    `CREATE TABLE memberships (
      workspace_biz_id uuid NOT NULL REFERENCES workspaces,
      account_biz_id uuid NOT NULL REFERENCES accounts,
      role_biz_id uuid NOT NULL,
      join_source text NOT NULL CHECK (join_source IN ('REGISTRATION', 'INVITATION', 'CREATION', 'RESTORATION')),
      is_default boolean NOT NULL DEFAULT false,
      policy_config jsonb,
      owner_since timestamptz,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      PRIMARY KEY (workspace_biz_id, account_biz_id),
      FOREIGN KEY (workspace_biz_id, role_biz_id) REFERENCES roles (workspace_biz_id, biz_id)
    )`,
    `CREATE INDEX memberships_account ON memberships (account_biz_id)`,
    // With the workspace as the first column, the generic query plan would read every member.
    `CREATE INDEX memberships_role_workspace ON memberships (role_biz_id, workspace_biz_id)`,
    `CREATE UNIQUE INDEX memberships_one_default ON memberships (account_biz_id) WHERE is_default`,
    // These limits apply again if the member joins again.
    `CREATE TABLE former_membership_limits (
      workspace_biz_id uuid NOT NULL REFERENCES workspaces,
      account_biz_id uuid NOT NULL REFERENCES accounts,
      policy_config jsonb NOT NULL,
      PRIMARY KEY (workspace_biz_id, account_biz_id)
    )`,
  ]),
  // Only lists repeat the condition. Without it, the generic query plan of other statements would read every member.
  sqlMigration('002-lists', [
    `CREATE INDEX IF NOT EXISTS memberships_created ON memberships (workspace_biz_id, created_at, account_biz_id)
      WHERE created_at > '-infinity'`,
    `CREATE INDEX IF NOT EXISTS memberships_changed ON memberships (workspace_biz_id, updated_at, account_biz_id)
      WHERE created_at > '-infinity'`,
  ]),
  // `is_person_in` (src/ledger/schema/duties.ts) reads it. A trigger sees every way in which a membership ends.
  sqlMigration('003-former-memberships', [
    `CREATE TABLE former_memberships (
      workspace_biz_id uuid NOT NULL REFERENCES workspaces,
      account_biz_id uuid NOT NULL REFERENCES accounts,
      ended_at timestamptz NOT NULL,
      PRIMARY KEY (workspace_biz_id, account_biz_id)
    )`,
    `CREATE INDEX former_memberships_end ON former_memberships (ended_at)`,
    `CREATE FUNCTION memberships_end() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO former_memberships VALUES (OLD.workspace_biz_id, OLD.account_biz_id, clock_timestamp())
      ON CONFLICT (workspace_biz_id, account_biz_id) DO UPDATE SET ended_at = excluded.ended_at;
      RETURN NULL;
    END $$`,
    `CREATE TRIGGER memberships_end AFTER DELETE ON memberships FOR EACH ROW EXECUTE FUNCTION memberships_end()`,
  ]),
  // Existing members are not held. Nobody is recorded as having brought them in.
  sqlMigration('004-powers', [
    `ALTER TABLE memberships
      ADD COLUMN payouts_since jsonb NOT NULL DEFAULT '{}',
      ADD COLUMN granted_by uuid,
      ADD COLUMN granted_at timestamptz,
      ADD COLUMN suspended_at timestamptz`,
    `CREATE INDEX IF NOT EXISTS memberships_granted_by ON memberships (granted_by, granted_at) WHERE granted_by IS NOT NULL`,
    `CREATE INDEX IF NOT EXISTS memberships_suspended ON memberships (account_biz_id, workspace_biz_id)
      WHERE suspended_at IS NOT NULL`,
  ]),
  // The trigger also sees the grants of the previous release while both run.
  sqlMigration('005-membership-grants', [
    `CREATE TABLE membership_grants (
      workspace_biz_id uuid NOT NULL REFERENCES workspaces,
      grantor_biz_id uuid NOT NULL,
      grantee_biz_id uuid NOT NULL,
      granted_at timestamptz NOT NULL,
      PRIMARY KEY (grantor_biz_id, workspace_biz_id, grantee_biz_id)
    )`,
    `CREATE INDEX membership_grants_time ON membership_grants (granted_at)`,
    `CREATE FUNCTION memberships_grant() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO membership_grants VALUES (NEW.workspace_biz_id, NEW.granted_by, NEW.account_biz_id, NEW.granted_at)
      ON CONFLICT (grantor_biz_id, workspace_biz_id, grantee_biz_id) DO UPDATE
        SET granted_at = greatest(membership_grants.granted_at, excluded.granted_at);
      RETURN NULL;
    END $$`,
    `CREATE TRIGGER memberships_grant AFTER INSERT OR UPDATE OF granted_by, granted_at ON memberships
      FOR EACH ROW WHEN (NEW.granted_by IS NOT NULL) EXECUTE FUNCTION memberships_grant()`,
    `INSERT INTO membership_grants SELECT workspace_biz_id, granted_by, account_biz_id, granted_at
      FROM memberships WHERE granted_by IS NOT NULL`,
    // Also returns accounts that have left since.
    `CREATE FUNCTION brought_in_by(account uuid, since timestamptz)
    RETURNS TABLE (workspace_biz_id uuid, account_biz_id uuid) LANGUAGE sql STABLE AS $$
      WITH RECURSIVE brought_in AS (
        SELECT g.workspace_biz_id, g.grantee_biz_id FROM membership_grants g
        WHERE g.grantor_biz_id = account AND g.granted_at > since
        UNION
        SELECT g.workspace_biz_id, g.grantee_biz_id FROM brought_in b
        JOIN membership_grants g ON g.workspace_biz_id = b.workspace_biz_id AND g.grantor_biz_id = b.grantee_biz_id
        WHERE g.granted_at > since
      )
      SELECT b.workspace_biz_id, b.grantee_biz_id FROM brought_in b
    $$`,
  ]),
  suspicionMigration,
  sqlMigration(
    '007-events',
    recordChanges(
      'memberships',
      ['role_biz_id', 'suspended_at', 'policy_config'],
      [
        ...['workspace_biz_id', 'account_biz_id', 'role_biz_id', 'join_source', 'policy_config', 'suspended_at'],
        ...['created_at', 'updated_at'],
      ],
      ['INSERT', 'UPDATE', 'DELETE'],
    ),
  ),
  // A second barrier behind the checks of the commands. Foreign keys report missing rows.
  sqlMigration('008-portals', [
    `CREATE FUNCTION memberships_portal() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF EXISTS (
        SELECT FROM accounts a JOIN workspaces w ON w.portal <> a.portal
         WHERE a.biz_id = NEW.account_biz_id AND w.biz_id = NEW.workspace_biz_id) THEN
        RAISE EXCEPTION 'the account and the workspace belong to different portals' USING ERRCODE = 'check_violation';
      END IF;
      RETURN NEW;
    END $$`,
    `CREATE TRIGGER memberships_portal BEFORE INSERT OR UPDATE OF workspace_biz_id, account_biz_id ON memberships
      FOR EACH ROW EXECUTE FUNCTION memberships_portal()`,
  ]),
]
