import type { InvitationStatus } from '../../domains/invitations/contract.ts'
import type { AccountId, BizId, RoleId, WorkspaceId } from '../../kernel/index.ts'
import type { NullableTimestamp, Timestamp } from './columns.ts'

export interface InvitationsTable {
  workspace_biz_id: WorkspaceId
  biz_id: BizId<'invitation'>
  /** In the form in which addresses are compared. */
  invitee_email: string
  role_biz_id: RoleId
  /** As it was called when the invitation was made; the role may be gone later. */
  role_name: string
  inviter_biz_id: AccountId
  /** EXPIRED is written late: a PENDING one whose time has passed counts as EXPIRED. */
  invitation_status: InvitationStatus
  decline_reason: string | null
  message: string | null
  expires_at: Timestamp
  responded_at: NullableTimestamp
  created_at: Timestamp
  updated_at: Timestamp
}

export interface InvitationTables {
  invitations: InvitationsTable
}
