import { type Json, sqlMigration, type Timestamp } from '../../database/index.ts'
import type { AccountId, RoleId, WorkspaceId } from '../../kernel/index.ts'
import type { JoinSource } from './contract.ts'

export interface MembershipsTable {
  workspace_biz_id: WorkspaceId
  account_biz_id: AccountId
  role_biz_id: RoleId
  join_source: JoinSource
  is_default: boolean
  /** Limits in addition to the role: see rules.ts. */
  policy_config: Json | null
  created_at: Timestamp
  updated_at: Timestamp
}

interface FormerMembershipLimitsTable {
  workspace_biz_id: WorkspaceId
  account_biz_id: AccountId
  policy_config: Json
}

declare module '../../database/tables.ts' {
  interface Tables {
    memberships: MembershipsTable
    former_membership_limits: FormerMembershipLimitsTable
  }
}

/** Memberships, which join accounts and workspaces with a role. */
export const migrations = [
  sqlMigration('001-baseline', [
    `CREATE TABLE memberships (
      workspace_biz_id uuid NOT NULL REFERENCES workspaces,
      account_biz_id uuid NOT NULL REFERENCES accounts,
      role_biz_id uuid NOT NULL,
      join_source text NOT NULL CHECK (join_source IN ('REGISTRATION', 'INVITATION', 'CREATION')),
      is_default boolean NOT NULL DEFAULT false,
      policy_config jsonb,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      PRIMARY KEY (workspace_biz_id, account_biz_id),
      FOREIGN KEY (workspace_biz_id, role_biz_id) REFERENCES roles (workspace_biz_id, biz_id)
    )`,
    `CREATE INDEX memberships_account ON memberships (account_biz_id)`,
    // The role comes first. With the workspace first, the generic query plan would read every member.
    `CREATE INDEX memberships_role_workspace ON memberships (role_biz_id, workspace_biz_id)`,
    `CREATE UNIQUE INDEX memberships_one_default ON memberships (account_biz_id) WHERE is_default`,
    // Limits of ended memberships. They apply again if the member returns.
    `CREATE TABLE former_membership_limits (
      workspace_biz_id uuid NOT NULL REFERENCES workspaces,
      account_biz_id uuid NOT NULL REFERENCES accounts,
      policy_config jsonb NOT NULL,
      PRIMARY KEY (workspace_biz_id, account_biz_id)
    )`,
  ]),
]
