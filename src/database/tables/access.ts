import type { JoinSource } from '../../domains/workspaces/contract.ts'
import type { AccountId, RoleId, RoleType, WorkspaceId, WorkspaceKind, WorkspaceStatus } from '../../kernel/index.ts'

import type { Json, Timestamp } from './columns.ts'

export interface WorkspacesTable {
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

export interface MembershipsTable {
  workspace_biz_id: WorkspaceId
  account_biz_id: AccountId
  role_biz_id: RoleId
  join_source: JoinSource
  is_default: boolean
  /** What this membership is limited to, beside its role: see src/domains/workspaces/rules.ts. */
  policy_config: Json | null
  created_at: Timestamp
  updated_at: Timestamp
}

/** What a membership that has ended was limited to. */
export interface MembershipLimitsKeptTable {
  workspace_biz_id: WorkspaceId
  account_biz_id: AccountId
  policy_config: Json
}

export interface AccessTables {
  workspaces: WorkspacesTable
  roles: RolesTable
  memberships: MembershipsTable
  membership_limits_kept: MembershipLimitsKeptTable
}
