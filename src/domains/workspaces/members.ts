import { type AccountId, type Instant, Refusal, type WorkspaceId } from '../../kernel/index.ts'
import type { Tx } from '../../platform/database/index.ts'
import {
  addMembership,
  countOwners,
  type MembershipRow,
  membershipIn,
  type NewMembership,
  removeMembership,
  setRole,
} from './membership-store.ts'
import { lockWorkspace, type WorkspaceRow } from './store.ts'

/** As much of a member as it takes to change or end the membership. */
export type Member = Pick<MembershipRow, 'accountId' | 'workspaceId' | 'roleType'>

/**
 * Who belongs to a workspace, for the domains that change it. Whoever changes it holds the workspace first;
 * so the last owner stays, whatever happens at the same time.
 */
export interface Members {
  hold(tx: Tx, workspaceId: WorkspaceId): Promise<WorkspaceRow | undefined>
  find(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<MembershipRow | undefined>
  /** Whether the account became a member; false where it is one already. */
  add(tx: Tx, member: NewMembership, at: Instant): Promise<boolean>
  assign(tx: Tx, member: Member, role: Pick<MembershipRow, 'roleId' | 'roleType'>, at: Instant): Promise<void>
  remove(tx: Tx, member: Member): Promise<void>
}

/** An owner may go only while another one stays. */
const keepAnOwner = async (tx: Tx, { roleType, workspaceId }: Member): Promise<void> => {
  if (roleType === 'OWNER' && (await countOwners(tx, workspaceId)) < 2) throw new Refusal('WORKSPACE.LAST_OWNER')
}

export const members: Members = {
  hold: lockWorkspace,
  find: membershipIn,
  add: addMembership,
  assign: async (tx, member, role, at) => {
    if (role.roleType !== 'OWNER') await keepAnOwner(tx, member)
    await setRole(tx, member, role.roleId, at)
  },
  remove: async (tx, member) => {
    await keepAnOwner(tx, member)
    await removeMembership(tx, member.accountId, member.workspaceId)
  },
}
