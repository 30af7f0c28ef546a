import type { Tx } from '../../database/index.ts'
import {
  type AccountId,
  type Instant,
  Refusal,
  type WorkspaceAccess,
  type WorkspaceId,
  type WorkspaceKind,
  type WorkspaceStatus,
} from '../../kernel/index.ts'
import { addMembership, type NewMembership, removeMembership, setRole } from './membership-store.ts'
import { type AccessRules, isEnterable, mayActAsOwner } from './rules.ts'
import { countMemberships, isPersonIn, type MembershipRow, membershipIn, otherOwners } from './store.ts'

/** The fields of a membership that are required to change or end it. */
export type MemberKey = Pick<MembershipRow, 'accountId' | 'workspaceId' | 'roleType'>

/** A workspace whose row is locked. */
export interface LockedWorkspace {
  id: WorkspaceId
  name: string
  kind: WorkspaceKind
  status: WorkspaceStatus
}

export interface MembershipsPorts {
  rules: AccessRules
  settings: { maxPerAccount: number }
  /** Locks a workspace's row until the end of the transaction. */
  lockWorkspace(tx: Tx, id: WorkspaceId): Promise<LockedWorkspace | undefined>
}

/** Refuses to remove an owner unless another active owner can run the workspace. */
const assertOwnerRemains = async (tx: Tx, { roleType, workspaceId, accountId }: MemberKey): Promise<void> => {
  if (roleType !== 'OWNER') return
  const others = await otherOwners(tx, workspaceId, accountId)
  if (!others.some(({ policyConfig }) => mayActAsOwner(policyConfig))) throw new Refusal('WORKSPACE.LAST_OWNER')
}

/**
 * Reads and changes memberships, also for other domains. Lock the workspace before any change (`lock` or `assertAccess`):
 * the check for the last owner requires it.
 */
export class Memberships {
  readonly #ports: MembershipsPorts

  constructor(ports: MembershipsPorts) {
    this.#ports = ports
  }

  /** Locks the workspace. Returns undefined if it does not exist. */
  lock(tx: Tx, workspaceId: WorkspaceId): Promise<LockedWorkspace | undefined> {
    return this.#ports.lockWorkspace(tx, workspaceId)
  }

  /**
   * Locks the workspace and refuses if the caller has lost a permission since `access` was read. Otherwise a caller could
   * grant a permission that was just revoked.
   */
  async assertAccess(tx: Tx, accountId: AccountId, access: WorkspaceAccess): Promise<LockedWorkspace> {
    const workspace = await this.lock(tx, access.id)
    const now = await this.accessOf(tx, accountId, access.id)
    if (!workspace || !now || (access.isOwner && !now.isOwner) || !access.permissions.isSubsetOf(now.permissions)) {
      throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: 'the caller’s permissions have just changed' })
    }
    return workspace
  }

  /** Throws if the person is a member with any account, because members must not remove their own restrictions. */
  async assertOutsider(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<void> {
    if (await isPersonIn(tx, accountId, workspaceId))
      throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: 'the caller’s own workspace' })
  }

  /** Refuses if the account belongs to the maximum number of workspaces. Locks the account until the end of `tx`. */
  async assertCapacity(tx: Tx, accountId: AccountId): Promise<void> {
    if ((await countMemberships(tx, accountId)) >= this.#ports.settings.maxPerAccount)
      throw new Refusal('STATE.CONFLICT', { internal: 'the account belongs to the maximum number of workspaces' })
  }

  find(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<MembershipRow | undefined> {
    return membershipIn(tx, accountId, workspaceId)
  }

  /** Returns a member's current access. Returns undefined if the account is not a member or cannot enter. */
  async accessOf(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<WorkspaceAccess | undefined> {
    const member = await membershipIn(tx, accountId, workspaceId)
    return member && isEnterable(member) ? this.#ports.rules.accessOf(member) : undefined
  }

  /** Adds the owner of a new workspace. The caller must check the maximum number of workspaces of the account. */
  addOwner(tx: Tx, member: NewMembership, at: Instant): Promise<boolean> {
    return addMembership(tx, member, at)
  }

  /**
   * Adds a member. Returns false if the account is already a member. Throws if the account has the maximum number of
   * workspaces.
   */
  async add(tx: Tx, member: NewMembership, at: Instant): Promise<boolean> {
    await this.assertCapacity(tx, member.accountId)
    return addMembership(tx, member, at)
  }

  /** Gives a member another role. Refuses with WORKSPACE.LAST_OWNER if no owner would remain. */
  async assign(
    tx: Tx,
    member: MemberKey,
    role: Pick<MembershipRow, 'roleId' | 'roleType'>,
    at: Instant,
  ): Promise<void> {
    if (role.roleType !== 'OWNER') await assertOwnerRemains(tx, member)
    await setRole(tx, member, role.roleId, at)
  }

  /** Ends a membership. Refuses with WORKSPACE.LAST_OWNER if no owner would remain. */
  async remove(tx: Tx, member: MemberKey): Promise<void> {
    await assertOwnerRemains(tx, member)
    await removeMembership(tx, member.accountId, member.workspaceId)
  }
}
