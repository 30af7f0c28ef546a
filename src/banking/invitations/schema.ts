import { type NullableTimestamp, sqlMigration, type Timestamp } from '../../database/index.ts'
import type { AccountId, BizId, RoleId, WorkspaceId } from '../../kernel/index.ts'
import { recordChanges } from '../../platform/events/index.ts'
import type { InvitationStatus } from './contract.ts'
import { inviters } from './inviter-schema.ts'

interface InvitationsTable {
  workspaceBizId: WorkspaceId
  bizId: BizId<'invitation'>
  /** In canonical form. */
  inviteeEmail: string
  roleBizId: RoleId
  /** Copied at creation, because the role can be deleted. */
  roleName: string
  inviterBizId: AccountId
  /** A PENDING or SUSPENDED invitation past `expires_at` counts as EXPIRED, even if the status is not updated yet. */
  invitationStatus: InvitationStatus
  declineReason: string | null
  message: string | null
  expiresAt: Timestamp
  respondedAt: NullableTimestamp
  /** Who confirmed the suspended invitation last. */
  enabledBy: AccountId | null
  enabledAt: NullableTimestamp
  createdAt: Timestamp
  updatedAt: Timestamp
}

declare module '../../database/tables.ts' {
  interface Tables {
    invitations: InvitationsTable
  }
}

export const migrations = [
  sqlMigration('001-baseline', [
    `CREATE TABLE invitations (
      workspace_biz_id uuid NOT NULL REFERENCES workspaces,
      biz_id uuid NOT NULL,
      invitee_email text NOT NULL,
      role_biz_id uuid NOT NULL,
      role_name text NOT NULL,
      inviter_biz_id uuid NOT NULL REFERENCES accounts,
      invitation_status text NOT NULL
        CHECK (invitation_status IN ('PENDING', 'ACCEPTED', 'DECLINED', 'CANCELLED', 'EXPIRED', 'SUSPENDED')),
      decline_reason text,
      message text,
      expires_at timestamptz NOT NULL,
      responded_at timestamptz,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      PRIMARY KEY (workspace_biz_id, biz_id)
    )`,
    `CREATE UNIQUE INDEX invitations_one_pending ON invitations (workspace_biz_id, invitee_email)
      WHERE invitation_status IN ('PENDING', 'SUSPENDED')`,
    `CREATE INDEX invitations_biz_id ON invitations (biz_id)`,
    `CREATE INDEX invitations_email ON invitations (invitee_email, created_at)`,
    `CREATE INDEX invitations_inviter ON invitations (inviter_biz_id)
      WHERE invitation_status = 'PENDING'`,
    `CREATE INDEX invitations_made ON invitations (workspace_biz_id, created_at)`,
    `CREATE INDEX invitations_sent ON invitations (inviter_biz_id, created_at)`,
  ]),
  sqlMigration('002-status', [
    `CREATE INDEX IF NOT EXISTS invitations_status ON invitations
      (workspace_biz_id, invitation_status, created_at, biz_id)`,
  ]),
  sqlMigration('003-enabled', [
    `ALTER TABLE invitations ADD COLUMN enabled_by uuid, ADD COLUMN enabled_at timestamptz`,
    `CREATE INDEX IF NOT EXISTS invitations_enabled ON invitations (enabled_by) WHERE enabled_by IS NOT NULL`,
  ]),
  sqlMigration('004-inviters', inviters),
  sqlMigration('005-events', [
    ...recordChanges(
      'invitations',
      ['invitation_status'],
      [
        ...['biz_id', 'workspace_biz_id', 'invitee_email', 'role_biz_id', 'role_name', 'inviter_biz_id'],
        ...['invitation_status', 'decline_reason', 'message', 'expires_at', 'responded_at', 'created_at', 'updated_at'],
      ],
    ),
    `CREATE INDEX IF NOT EXISTS invitations_expiry ON invitations (expires_at)
      WHERE invitation_status IN ('PENDING', 'SUSPENDED')`,
  ]),
]
