import type { Tx } from '../../database/index.ts'
import { type AccountId, type Instant, Refusal, type WorkspaceAccess, type WorkspaceId } from '../../kernel/index.ts'
import {
  addMembership,
  countMemberships,
  isPersonIn,
  type MembershipRow,
  membershipIn,
  type NewMembership,
  otherOwners,
  removeMembership,
  setRole,
} from './membership-store.ts'
import { isEnterable, mayActAsOwner, type Standing } from './rules.ts'
import { lockWorkspace, type WorkspaceRow } from './store.ts'

/** As much of a member as it takes to change or end the membership. */
export type Member = Pick<MembershipRow, 'accountId' | 'workspaceId' | 'roleType'>

/**
 * Who belongs to a workspace, for the domains that change it. Whoever changes it holds the workspace first;
 * so the last owner stays, whatever happens at the same time.
 */
export interface Members {
  hold(tx: Tx, workspaceId: WorkspaceId): Promise<WorkspaceRow | undefined>
  /**
   * Holds it for somebody who acts by rights that were read before. Where those have shrunk since, it refuses: what
   * a person has just lost they can neither take back nor pass on.
   */
  holdFor(tx: Tx, accountId: AccountId, by: WorkspaceAccess): Promise<WorkspaceRow>
  find(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<MembershipRow | undefined>
  /** Refuses somebody who belongs to it, by any account of theirs: what holds its members back is not theirs to lift. */
  demandOutsider(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<void>
  /** What a member may do now; undefined for who is none or may not enter. */
  accessOf(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<WorkspaceAccess | undefined>
  /** Refuses where an account belongs to as many workspaces as it may; until the end of `tx` it comes to no other one. */
  requireRoom(tx: Tx, accountId: AccountId): Promise<void>
  /** Whether the account became a member; false where it is one already. Refuses where it has no room. */
  add(tx: Tx, member: NewMembership, at: Instant): Promise<boolean>
  assign(tx: Tx, member: Member, role: Pick<MembershipRow, 'roleId' | 'roleType'>, at: Instant): Promise<void>
  remove(tx: Tx, member: Member): Promise<void>
}

/** An owner may go only while another one stays who can sign in and act as one. */
const keepAnOwner = async (tx: Tx, { roleType, workspaceId, accountId }: Member): Promise<void> => {
  if (roleType !== 'OWNER') return
  const others = await otherOwners(tx, workspaceId, accountId)
  if (!others.some(({ policyConfig }) => mayActAsOwner(policyConfig))) throw new Refusal('WORKSPACE.LAST_OWNER')
}

export interface MembershipSettings {
  maxPerAccount: number
}

export const createMembers = (
  accessBy: (standing: Standing) => WorkspaceAccess,
  settings: MembershipSettings,
): Members => {
  const requireRoom = async (tx: Tx, accountId: AccountId): Promise<void> => {
    if ((await countMemberships(tx, accountId)) >= settings.maxPerAccount)
      throw new Refusal('STATE.CONFLICT', { internal: 'the account belongs to as many workspaces as it may' })
  }
  const accessOf = async (tx: Tx, accountId: AccountId, workspaceId: WorkspaceId) => {
    const member = await membershipIn(tx, accountId, workspaceId)
    return member && isEnterable(member) ? accessBy(member) : undefined
  }
  return {
    hold: lockWorkspace,
    holdFor: async (tx, accountId, by) => {
      const workspace = await lockWorkspace(tx, by.id)
      const now = await accessOf(tx, accountId, by.id)
      if (!workspace || !now || (by.isOwner && !now.isOwner) || !by.permissions.isSubsetOf(now.permissions)) {
        throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: 'the caller’s rights have just changed' })
      }
      return workspace
    },
    find: membershipIn,
    demandOutsider: async (tx, accountId, workspaceId) => {
      if (await isPersonIn(tx, accountId, workspaceId))
        throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: 'one’s own workspace' })
    },
    accessOf,
    requireRoom,
    add: async (tx, member, at) => {
      await requireRoom(tx, member.accountId)
      return addMembership(tx, member, at)
    },
    assign: async (tx, member, role, at) => {
      if (role.roleType !== 'OWNER') await keepAnOwner(tx, member)
      await setRole(tx, member, role.roleId, at)
    },
    remove: async (tx, member) => {
      await keepAnOwner(tx, member)
      await removeMembership(tx, member.accountId, member.workspaceId)
    },
  }
}
