import type { Generated } from 'kysely'
import { sqlMigration, type Timestamp } from '../../database/index.ts'
import type { AccountId, RoleId, RoleType, WorkspaceId } from '../../kernel/index.ts'
import { recordChanges } from '../../platform/events/index.ts'

export interface RolesTable {
  bizId: RoleId
  workspaceBizId: WorkspaceId
  roleName: string
  description: string
  roleType: RoleType
  permissionCodes: string[]
  /** Codes that the recovery of an account took from `permission_codes`, until a member restores or replaces them. */
  suspendedCodes: Generated<string[]>
  createdAt: Timestamp
  updatedAt: Timestamp
}

/** Who last added each permission to a role, and when. */
interface RoleGrantsTable {
  workspaceBizId: WorkspaceId
  roleBizId: RoleId
  permissionCode: string
  grantedBy: AccountId
  grantedAt: Timestamp
}

declare module '../../database/tables.ts' {
  interface Tables {
    roles: RolesTable
    role_grants: RoleGrantsTable
  }
}

export const migrations = [
  sqlMigration('001-baseline', [
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
  ]),
  sqlMigration('002-powers', [
    `ALTER TABLE roles ADD COLUMN suspended_codes text[] NOT NULL DEFAULT '{}'`,
    `CREATE TABLE role_grants (
      workspace_biz_id uuid NOT NULL,
      role_biz_id uuid NOT NULL,
      permission_code text NOT NULL,
      granted_by uuid NOT NULL,
      granted_at timestamptz NOT NULL,
      PRIMARY KEY (workspace_biz_id, role_biz_id, permission_code),
      FOREIGN KEY (workspace_biz_id, role_biz_id) REFERENCES roles (workspace_biz_id, biz_id) ON DELETE CASCADE
    )`,
    `CREATE INDEX role_grants_account ON role_grants (granted_by, granted_at)`,
  ]),
  sqlMigration(
    '003-events',
    recordChanges(
      'roles',
      ['role_name', 'description', 'permission_codes'],
      [
        ...['biz_id', 'workspace_biz_id', 'role_name', 'description', 'role_type', 'permission_codes'],
        ...['created_at', 'updated_at'],
      ],
      ['INSERT', 'UPDATE', 'DELETE'],
    ),
  ),
]
