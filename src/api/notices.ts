import type { Tx } from '../database/index.ts'
import type { AccountId, Instant, WorkspaceId } from '../kernel/index.ts'

declare global {
  /** Kinds of domains outside this package: `declare global { interface PorticoNotices { loans: typeof ownerNotices } }`. */
  interface PorticoNotices {}
}

/** Kinds of notices by domain. Portico's own domains add theirs by declaration merging. */
export interface NoticesByDomain extends PorticoNotices {}

export type OwnerNoticeKind = NoticesByDomain[keyof NoticesByDomain][number]

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
  /**
   * Queues an email per owner. The emails are sent if and only if the transaction commits. Rejects with a TypeError for a kind
   * that no domain declares in `ownerNotices`.
   */
  queue(tx: Tx, notice: OwnerNotice): Promise<void>
}
