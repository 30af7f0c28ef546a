import type { Tx } from '../database/index.ts'
import type { AccountId, Instant, WorkspaceId } from '../kernel/index.ts'

/** Events emailed to all owners of a workspace. Their texts are `notice.owners.<kind>` in assets/locales. */
export const ownerNoticeKinds = [
  'API_KEY_CREATED',
  'API_KEY_ENABLED',
  'CHANNEL_CREATED',
  'CHANNEL_VERIFIED',
  'OWNER_ADDED',
  'OWNER_REMOVED',
  'OWNER_LIMITED',
  'MEMBER_ADDED',
  'ROLE_CREATED',
  'ROLE_RENAMED',
  'ROLE_WIDENED',
  'MEMBER_WIDENED',
  'WITHDRAWAL_REQUESTED',
  'WITHDRAWAL_APPROVED',
  'WITHDRAWAL_COMPLETED',
] as const
export type OwnerNoticeKind = (typeof ownerNoticeKinds)[number]

/** PAYOUT: money can leave the workspace. Each has its own daily limit of emails, which lesser changes cannot use up. */
export type GivenPower = 'POWER' | 'PAYOUT'

export interface OwnerNotice {
  kind: OwnerNoticeKind
  workspaceId: WorkspaceId
  /** The member who acted. Null for an operator, whose address owners do not see. */
  actorId: AccountId | null
  /** The member whose rights changed. The email shows their address. */
  memberId?: AccountId
  /** A short text that identifies the object, such as an amount. Empty if `memberId` is set. */
  about?: string
  gives?: GivenPower | undefined
  at: Instant
}

/** Informs the owners of a workspace by email. The `members` domain provides it as a service. */
export interface OwnerNotices {
  /** Queues an email per owner. The emails are sent if and only if the transaction commits. */
  queue(tx: Tx, notice: OwnerNotice): Promise<void>
}
