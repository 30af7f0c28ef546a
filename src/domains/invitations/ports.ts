import type { Database, Tx } from '../../database/index.ts'
import type {
  AccountId,
  Ids,
  Instant,
  RoleId,
  WorkspaceAccess,
  WorkspaceId,
  WorkspaceStatus,
} from '../../kernel/index.ts'

import type { Mailer } from '../../platform/mail/index.ts'
import type { InvitationSettings } from './rules.ts'

/** Who belongs to a workspace. `hold` makes changes to its people take turns. */
export interface MembersPort {
  hold(tx: Tx, workspaceId: WorkspaceId): Promise<{ status: WorkspaceStatus; name: string } | undefined>
  /** Refuses where the rights by which somebody acts have shrunk since they were read. */
  holdFor(tx: Tx, accountId: AccountId, by: WorkspaceAccess): Promise<unknown>
  find(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<unknown>
  /** What a member may do there now; undefined where they may not enter. */
  accessOf(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<WorkspaceAccess | undefined>
  /** Whether the account became a member; false where it is one already. */
  add(
    tx: Tx,
    member: { workspaceId: WorkspaceId; accountId: AccountId; roleId: RoleId; joinSource: 'INVITATION' },
    at: Instant,
  ): Promise<boolean>
}

export interface InvitationPorts {
  database: Database
  ids: Ids
  members: MembersPort
  mailer: Pick<Mailer, 'send'>
  /** Where people sign in to answer: configured, never taken from a request. */
  portalUrl: string
  settings: InvitationSettings
}
