import { sqlMigration, type Timestamp } from '../../database/index.ts'
import type { RoleId, RoleType, WorkspaceId } from '../../kernel/index.ts'

export interface RolesTable {
  biz_id: RoleId
  workspace_biz_id: WorkspaceId
  role_name: string
  description: string
  role_type: RoleType
  permission_codes: string[]
  created_at: Timestamp
  updated_at: Timestamp
}

declare module '../../database/tables.ts' {
  interface Tables {
    roles: RolesTable
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
]
