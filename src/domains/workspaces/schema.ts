import { type Json, sqlMigration, type Timestamp } from '../../database/index.ts'

import type { AccountId, RoleId, RoleType, WorkspaceId, WorkspaceKind, WorkspaceStatus } from '../../kernel/index.ts'
import type { JoinSource } from '../members/contract.ts'

interface WorkspacesTable {
  biz_id: WorkspaceId
  institution_biz_id: string
  entity_biz_id: string | null
  workspace_name: string
  workspace_timezone: string
  workspace_status: WorkspaceStatus
  workspace_kind: WorkspaceKind
  extra_data: Json | null
  created_at: Timestamp
  updated_at: Timestamp
}

interface RolesTable {
  biz_id: RoleId
  workspace_biz_id: WorkspaceId
  role_name: string
  description: string
  role_type: RoleType
  permission_codes: string[]
  created_at: Timestamp
  updated_at: Timestamp
}

interface MembershipsTable {
  workspace_biz_id: WorkspaceId
  account_biz_id: AccountId
  role_biz_id: RoleId
  join_source: JoinSource
  is_default: boolean
  /** Limits of this membership in addition to its role: see rules.ts. */
  policy_config: Json | null
  created_at: Timestamp
  updated_at: Timestamp
}

interface MembershipLimitsKeptTable {
  workspace_biz_id: WorkspaceId
  account_biz_id: AccountId
  policy_config: Json
}

declare module '../../database/tables.ts' {
  interface Tables {
    workspaces: WorkspacesTable
    roles: RolesTable
    memberships: MembershipsTable
    membership_limits_kept: MembershipLimitsKeptTable
  }
}

/**
 * Workspaces with their roles and memberships. The roles live here too: a membership references a role, and opening a
 * workspace creates its owner role.
 */
export const migrations = [
  sqlMigration('001-baseline', [
    `CREATE TABLE workspaces (
      biz_id uuid PRIMARY KEY,
      institution_biz_id uuid NOT NULL,
      entity_biz_id uuid,
      workspace_name text NOT NULL,
      workspace_timezone text NOT NULL,
      workspace_status text NOT NULL CHECK (workspace_status IN ('ACTIVE', 'FROZEN')),
      workspace_kind text NOT NULL CHECK (workspace_kind IN ('LIVE', 'SANDBOX')),
      extra_data jsonb,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL
    )`,
    `CREATE TABLE roles (
      biz_id uuid NOT NULL,
      workspace_biz_id uuid NOT NULL REFERENCES workspaces,
      role_name text NOT NULL,
      description text NOT NULL,
      role_type text NOT NULL CHECK (role_type IN ('OWNER', 'CUSTOM')),
      permission_codes text[] NOT NULL,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      PRIMARY KEY (workspace_biz_id, biz_id)
    )`,
    `CREATE UNIQUE INDEX roles_one_owner ON roles (workspace_biz_id) WHERE role_type = 'OWNER'`,
    `CREATE UNIQUE INDEX roles_name ON roles (workspace_biz_id, lower(role_name))`,
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
    // Role first: an index that leads with the workspace makes the planner's generic plan read every member.
    `CREATE INDEX memberships_role_workspace ON memberships (role_biz_id, workspace_biz_id)`,
    `CREATE UNIQUE INDEX memberships_one_default ON memberships (account_biz_id) WHERE is_default`,
    // The limits of ended memberships: they apply again when the member returns.
    `CREATE TABLE membership_limits_kept (
      workspace_biz_id uuid NOT NULL REFERENCES workspaces,
      account_biz_id uuid NOT NULL REFERENCES accounts,
      policy_config jsonb NOT NULL,
      PRIMARY KEY (workspace_biz_id, account_biz_id)
    )`,
  ]),
]
