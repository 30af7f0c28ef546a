import type { Generated } from 'kysely'
import { type Json, sqlMigration, type Timestamp, trigramIndexes } from '../../database/index.ts'

import type { Portal, WorkspaceId, WorkspaceKind, WorkspaceStatus } from '../../kernel/index.ts'
import { recordChanges } from '../../platform/events/index.ts'

export interface WorkspacesTable {
  bizId: WorkspaceId
  institutionBizId: string
  entityBizId: string | null
  workspaceName: string
  workspaceTimezone: string
  /** Of its members. */
  portal: Generated<Portal>
  workspaceStatus: WorkspaceStatus
  workspaceKind: WorkspaceKind
  extraData: Json | null
  createdAt: Timestamp
  updatedAt: Timestamp
}

declare module '../../database/tables.ts' {
  interface Tables {
    workspaces: WorkspacesTable
  }
}

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
  ]),
  // For operators.
  sqlMigration('002-lists', [
    `CREATE INDEX IF NOT EXISTS workspaces_created ON workspaces (created_at, biz_id)`,
    `CREATE INDEX IF NOT EXISTS workspaces_changed ON workspaces (updated_at, biz_id)`,
    `CREATE INDEX IF NOT EXISTS workspaces_name ON workspaces (workspace_name, biz_id)`,
    `CREATE INDEX IF NOT EXISTS workspaces_kind ON workspaces (workspace_kind, created_at, biz_id)`,
    `CREATE INDEX IF NOT EXISTS workspaces_frozen ON workspaces (created_at, biz_id) WHERE workspace_status = 'FROZEN'`,
    ...trigramIndexes('workspaces', { workspaces_name_trigrams: 'lower(upper(workspace_name))' }),
  ]),
  sqlMigration(
    '003-events',
    recordChanges(
      'workspaces',
      ['workspace_status'],
      [
        ...['biz_id', 'institution_biz_id', 'entity_biz_id', 'workspace_name', 'workspace_timezone'],
        ...['workspace_status', 'workspace_kind', 'extra_data', 'created_at', 'updated_at'],
      ],
    ),
  ),
  // For totals. Equal keys share an entry, so that a total reads a tenth of the blocks.
  sqlMigration('004-totals', [
    `CREATE INDEX IF NOT EXISTS workspaces_kind_total ON workspaces (workspace_kind)`,
    `CREATE INDEX IF NOT EXISTS workspaces_frozen_total ON workspaces (workspace_status) WHERE workspace_status = 'FROZEN'`,
  ]),
  // The previous release opens workspaces of CONSUMER only, so the column keeps its default.
  sqlMigration('005-portals', [
    `ALTER TABLE workspaces ADD COLUMN IF NOT EXISTS portal text NOT NULL DEFAULT 'CONSUMER'`,
    `ALTER TABLE workspaces ADD CONSTRAINT workspaces_portal_format
      CHECK (portal ~ '^[A-Z][A-Z0-9_]{1,31}$' AND portal <> 'SYSTEM') NOT VALID`,
  ]),
]
