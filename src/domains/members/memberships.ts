import type { Database, Tx } from '../../database/index.ts'
import {
  type AccountId,
  type Instant,
  Refusal,
  type RoleType,
  type WorkspaceAccess,
  type WorkspaceId,
  type WorkspaceKind,
  type WorkspaceStatus,
  wholeSeconds,
} from '../../kernel/index.ts'
import { addMembership, type NewMembership, removeMembership, setRole } from './membership-store.ts'
import { type AccessRules, grantsPayouts, holdRemaining, isEnterable, mayActAsOwner } from './rules.ts'
import {
  activeOwners,
  countMemberships,
  isPersonIn,
  type MembershipRow,
  membershipIn,
  otherOwners,
  ownerRoleOf,
} from './store.ts'

export type MemberKey = Pick<MembershipRow, 'accountId' | 'workspaceId' | 'roleType'>

export interface LockedWorkspace {
  id: WorkspaceId
  name: string
  kind: WorkspaceKind
  status: WorkspaceStatus
}

export interface MembershipsPorts {
  rules: AccessRules
  settings: { maxPerAccount: number; ownerHoldMs: number }
  lockWorkspace(tx: Tx, id: WorkspaceId): Promise<LockedWorkspace | undefined>
}

/** Another active owner must be able to run the workspace. */
const assertOwnerRemains = async (tx: Tx, { roleType, workspaceId, accountId }: MemberKey): Promise<void> => {
  if (roleType !== 'OWNER') return
  const others = await otherOwners(tx, workspaceId, accountId)
  if (!others.some(({ policyConfig }) => mayActAsOwner(policyConfig))) throw new Refusal('WORKSPACE.LAST_OWNER')
}

const ownerHold = (remainingMs: number): Refusal =>
  new Refusal('ACCESS.OWNER_HOLD', { internal: 'became OWNER recently', retryAfter: wholeSeconds(remainingMs) })

/**
 * Reads and changes memberships, also for other domains. Lock the workspace before any change, because the check for
 * the last owner requires the lock.
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
   * Locks the workspace. Throws ACCESS.PERMISSION_DENIED if the caller has lost a permission since `access` was read.
   * Otherwise a caller could grant a permission that was just revoked.
   */
  async assertAccess(tx: Tx, accountId: AccountId, access: WorkspaceAccess): Promise<LockedWorkspace> {
    const workspace = await this.lock(tx, access.id)
    const now = await this.accessOf(tx, accountId, access.id)
    if (!workspace || !now || (access.isOwner && !now.isOwner) || !access.permissions.isSubsetOf(now.permissions)) {
      throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: 'the caller’s permissions have just changed' })
    }
    return workspace
  }

  /** Throws if the person belongs to the workspace with any account: members must not remove their own restrictions. */
  async assertOutsider(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<void> {
    if (await isPersonIn(tx, accountId, workspaceId))
      throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: 'the caller’s own workspace' })
  }

  /** Throws STATE.CONFLICT at the maximum number of workspaces. Locks the account until the transaction ends. */
  async assertCapacity(tx: Tx, accountId: AccountId): Promise<void> {
    if ((await countMemberships(tx, accountId)) >= this.#ports.settings.maxPerAccount)
      throw new Refusal('STATE.CONFLICT', { internal: 'the account belongs to the maximum number of workspaces' })
  }

  find(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<MembershipRow | undefined> {
    return membershipIn(tx, accountId, workspaceId)
  }

  /** Returns the current access, or undefined if the account is not a member or cannot enter the workspace. */
  async accessOf(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<WorkspaceAccess | undefined> {
    const member = await membershipIn(tx, accountId, workspaceId)
    return member && isEnterable(member) ? this.#ports.rules.accessOf(member) : undefined
  }

  /** Adds the owner of a new workspace. Call assertCapacity first. */
  addOwner(tx: Tx, member: NewMembership, at: Instant): Promise<boolean> {
    return addMembership(tx, { ...member, isFounder: true }, at)
  }

  /**
   * Adds a member. Returns false if the account is already a member. Throws STATE.CONFLICT at the maximum number of
   * workspaces.
   */
  async add(tx: Tx, member: NewMembership, at: Instant): Promise<boolean> {
    await this.assertCapacity(tx, member.accountId)
    return addMembership(tx, { ...member, isFounder: false }, at)
  }

  /**
   * Throws ACCESS.OWNER_HOLD if the member became OWNER less than `access.ownerHoldMs` ago, also after a demotion. Call
   * before money leaves the workspace. `isExempt` runs only for such a member.
   */
  async assertNotHeld(
    store: Database | Tx,
    { accountId, workspaceId }: Pick<MemberKey, 'accountId' | 'workspaceId'>,
    at: Instant,
    isExempt: () => Promise<boolean> = async () => false,
  ): Promise<void> {
    const { ownerHoldMs } = this.#ports.settings
    if (ownerHoldMs === 0) return
    const member = await membershipIn(store, accountId, workspaceId)
    const remainingMs = holdRemaining(member?.ownerSince ?? null, at, ownerHoldMs)
    if (remainingMs > 0 && !(await isExempt())) throw ownerHold(remainingMs)
  }

  /** Throws ACCESS.OWNER_HOLD if the actor is a new OWNER and grants OWNER or a permission to pay out. */
  async assertMayGrant(
    tx: Tx,
    actor: Pick<MemberKey, 'accountId' | 'workspaceId'>,
    grant: { type: RoleType; permissionCodes: readonly string[] },
    at: Instant,
  ): Promise<void> {
    if (grantsPayouts(grant)) await this.assertNotHeld(tx, actor, at)
  }

  /** Throws ACCESS.OWNER_HOLD if the actor is a new OWNER and the other member became OWNER before. */
  async assertMayDemote(
    tx: Tx,
    actor: AccountId,
    other: MemberKey & Pick<MembershipRow, 'ownerSince'>,
    at: Instant,
  ): Promise<void> {
    if (other.roleType !== 'OWNER' || other.accountId === actor) return
    const own = await membershipIn(tx, actor, other.workspaceId)
    const since = own?.ownerSince ?? null
    const remainingMs = holdRemaining(since, at, this.#ports.settings.ownerHoldMs)
    if (since !== null && remainingMs > 0 && (other.ownerSince ?? -Infinity) < since) throw ownerHold(remainingMs)
  }

  /** Changes the role of a member. Throws WORKSPACE.LAST_OWNER if no owner would remain. */
  async assign(
    tx: Tx,
    member: MemberKey,
    role: Pick<MembershipRow, 'roleId' | 'roleType'>,
    at: Instant,
  ): Promise<void> {
    if (role.roleType !== 'OWNER') await assertOwnerRemains(tx, member)
    const becomesOwner = role.roleType === 'OWNER' && member.roleType !== 'OWNER'
    await setRole(tx, member, { roleId: role.roleId, becomesOwner }, at)
  }

  /** Throws STATE.CONFLICT if an owner can run the workspace. The workspace must be locked. */
  async assertWithoutOwner(tx: Tx, workspaceId: WorkspaceId): Promise<void> {
    const owners = await activeOwners(tx, workspaceId)
    if (owners.some(({ policyConfig }) => mayActAsOwner(policyConfig)))
      throw new Refusal('STATE.CONFLICT', { internal: 'the workspace has an owner who can run it' })
  }

  /**
   * Makes an account an owner. The workspace must be locked. Throws STATE.CONFLICT if an owner can run the workspace,
   * or if limits prevent the account from running it.
   */
  async restoreOwner(
    tx: Tx,
    { workspaceId, accountId }: Pick<MemberKey, 'workspaceId' | 'accountId'>,
    at: Instant,
  ): Promise<void> {
    await this.assertWithoutOwner(tx, workspaceId)
    const roleId = await ownerRoleOf(tx, workspaceId)
    const earlier = await membershipIn(tx, accountId, workspaceId)
    const isNew = await this.add(tx, { workspaceId, accountId, roleId, joinSource: 'RESTORATION' }, at)
    const becomesOwner = earlier?.roleType !== 'OWNER'
    if (!isNew) await setRole(tx, { workspaceId, accountId }, { roleId, becomesOwner }, at)
    const member = await membershipIn(tx, accountId, workspaceId)
    if (!member || !mayActAsOwner(member.policyConfig))
      throw new Refusal('STATE.CONFLICT', { internal: 'limits of the membership do not allow to run the workspace' })
  }

  /** Ends a membership. Throws WORKSPACE.LAST_OWNER if no owner would remain. */
  async remove(tx: Tx, member: MemberKey): Promise<void> {
    await assertOwnerRemains(tx, member)
    await removeMembership(tx, member.accountId, member.workspaceId)
  }
}
