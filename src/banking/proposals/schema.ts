import { type Json, type NullableTimestamp, sqlMigration, type Timestamp } from '../../database/index.ts'
import type { AccountId, BizId, WorkspaceId } from '../../kernel/index.ts'
import { recordChanges } from '../../platform/events/index.ts'
import type { ProposalKind, ProposalStatus } from './contract.ts'

export interface OperatorProposalsTable {
  bizId: BizId<'proposal'>
  kind: ProposalKind
  subjectBizId: AccountId
  workspaceBizId: WorkspaceId | null
  payload: Json | null
  reason: string
  status: ProposalStatus
  /** Null for a proposal of an identity provider. */
  proposedBy: AccountId | null
  decidedBy: AccountId | null
  expiresAt: Timestamp
  executesAt: NullableTimestamp
  createdAt: Timestamp
  updatedAt: Timestamp
}

declare module '../../database/tables.ts' {
  interface Tables {
    operator_proposals: OperatorProposalsTable
  }
}

export const migrations = [
  sqlMigration('001-baseline', [
    `CREATE TABLE operator_proposals (
      biz_id uuid PRIMARY KEY,
      kind text NOT NULL CHECK (kind IN ('PERMISSIONS', 'RESTORE_OWNER', 'RESET_FACTOR')),
      subject_biz_id uuid NOT NULL REFERENCES accounts,
      workspace_biz_id uuid REFERENCES workspaces,
      payload jsonb,
      reason text NOT NULL,
      status text NOT NULL
        CHECK (status IN ('PENDING', 'SCHEDULED', 'DONE', 'REJECTED', 'CANCELLED', 'EXPIRED')),
      proposed_by uuid NOT NULL REFERENCES accounts,
      decided_by uuid REFERENCES accounts,
      expires_at timestamptz NOT NULL,
      executes_at timestamptz,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      CHECK ((kind = 'RESTORE_OWNER') = (workspace_biz_id IS NOT NULL)),
      CHECK ((kind = 'PERMISSIONS') = (payload IS NOT NULL)),
      CHECK (status <> 'SCHEDULED' OR executes_at IS NOT NULL)
    )`,
    `CREATE UNIQUE INDEX operator_proposals_open ON operator_proposals (subject_biz_id, kind, workspace_biz_id)
      NULLS NOT DISTINCT WHERE status IN ('PENDING', 'SCHEDULED')`,
    `CREATE INDEX operator_proposals_created ON operator_proposals (created_at)`,
  ]),
  sqlMigration(
    '002-events',
    recordChanges(
      'operator_proposals',
      ['status'],
      [
        ...['biz_id', 'kind', 'subject_biz_id', 'workspace_biz_id', 'payload', 'reason', 'status', 'proposed_by'],
        ...['decided_by', 'expires_at', 'executes_at', 'created_at', 'updated_at'],
      ],
    ),
  ),
  sqlMigration('003-provider-rights', [
    `ALTER TABLE operator_proposals ALTER COLUMN proposed_by DROP NOT NULL,
      ADD CHECK (proposed_by IS NOT NULL OR (kind = 'PERMISSIONS' AND status <> 'SCHEDULED'))`,
  ]),
]
