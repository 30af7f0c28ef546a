import type { GivenPower } from '../../api/notices.ts'
import type { Grant } from '../../contract/permissions.ts'
import type { Database, Tx } from '../../database/index.ts'
import {
  type AccountId,
  assertAllowed,
  assertSteppedUp,
  type Caller,
  conflict,
  denied,
  type Instant,
  type Permission,
  Refusal,
  type RoleId,
  type WorkspaceAccess,
  type WorkspaceId,
  type WorkspaceKind,
  type WorkspaceStatus,
  wholeSeconds,
} from '../../kernel/index.ts'
import { type Gain, holdMembersOf, holdPayoutsOf, recordGrowth } from './hold-store.ts'
import { addMembership, type NewMembership, removeMembership, setRole } from './membership-store.ts'
import { isSuspect, restoreMembership } from './recovery-store.ts'
import { type AccessRules, gainedAt, holdRemaining, isEnterable, isWidened, mayActAsOwner, mayGrant } from './rules.ts'
import {
  activeOwners,
  countMemberships,
  hasPersonDecided,
  isOfSamePortal,
  isPersonIn,
  lockMembership,
  type MembershipRow,
  membershipIn,
  otherOwners,
  ownerRoleOf,
  ownersToNotify,
  roleIn,
  roleNameIn,
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
  settings: {
    maxPerAccount: number
    payoutHoldMs: number
    /** Validity of a step-up. */
    stepUpMs: number
  }
  lockWorkspace(tx: Tx, id: WorkspaceId): Promise<LockedWorkspace | undefined>
}

/** A member who gives permissions to others. */
export interface Grantor {
  caller: Caller
  access: WorkspaceAccess
  at: Instant
}

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
      throw denied('the caller’s permissions have just changed')
    }
    return workspace
  }

  /** Throws if the person belongs to the workspace with any account: members must not remove their own restrictions. */
  async assertOutsider(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<void> {
    if (await isPersonIn(tx, accountId, workspaceId)) throw denied('the caller’s own workspace')
  }

  /** Throws STATE.CONFLICT if the account belongs to another portal than the workspace. */
  async assertSamePortal(tx: Tx, member: Pick<MemberKey, 'accountId' | 'workspaceId'>): Promise<void> {
    if (!(await isOfSamePortal(tx, member))) throw conflict('the account belongs to another portal')
  }

  /** Throws STATE.CONFLICT at the maximum number of workspaces. Locks the account until the transaction ends. */
  async assertCapacity(tx: Tx, accountId: AccountId): Promise<void> {
    if ((await countMemberships(tx, accountId)) >= this.#ports.settings.maxPerAccount)
      throw conflict('the account belongs to the maximum number of workspaces')
  }

  find(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<MembershipRow | undefined> {
    return membershipIn(tx, accountId, workspaceId)
  }

  /** Returns the current access, or undefined if the account is not a member or cannot enter the workspace. */
  async accessOf(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<WorkspaceAccess | undefined> {
    await lockMembership(tx, accountId, workspaceId)
    const member = await membershipIn(tx, accountId, workspaceId)
    return member && isEnterable(member) ? this.#ports.rules.accessOf(member) : undefined
  }

  /** Returns the owners who get notices about the workspace. */
  ownersOf(tx: Tx, workspaceId: WorkspaceId): Promise<AccountId[]> {
    return ownersToNotify(tx, workspaceId)
  }

  /** Adds the owner of a new workspace. Call assertCapacity first. */
  addOwner(tx: Tx, member: NewMembership, at: Instant): Promise<boolean> {
    return addMembership(tx, { ...member, gain: null }, at)
  }

  /**
   * Adds a member, whose payout permissions are held. Returns false if the account is already a member. Throws
   * STATE.CONFLICT at the maximum number of workspaces, if the account belongs to another portal, and if the person has
   * recently acted on this workspace as an operator.
   */
  async add(tx: Tx, { grantedBy, ...member }: NewMembership & Pick<Gain, 'grantedBy'>, at: Instant): Promise<boolean> {
    await this.assertCapacity(tx, member.accountId)
    await this.assertSamePortal(tx, member)
    if (await hasPersonDecided(tx, member)) throw conflict('the person has acted on the workspace as an operator')
    const role = await roleIn(tx, member)
    return addMembership(tx, { ...member, gain: this.#gainOf(role, grantedBy) }, at)
  }

  #gainOf(role: Grant, grantedBy: AccountId | null): Gain {
    return { payouts: this.#ports.rules.payoutsOf(role), becomesOwner: role.roleType === 'OWNER', grantedBy }
  }

  /** The greatest power that these permissions give. PAYOUT: money can leave a workspace. */
  powerOf(grant: Grant): GivenPower | undefined {
    const { rules } = this.#ports
    if (rules.payoutsOf(grant).length > 0) return 'PAYOUT'
    return rules.givesPower(grant) ? 'POWER' : undefined
  }

  /**
   * Throws ACCESS.PAYOUT_HOLD if the member gained one of the permissions less than `access.payoutHoldMs` ago, or became
   * OWNER since, also after a demotion. Call before money leaves the workspace. `isExempt` runs only for such a member.
   */
  async assertNotHeld(
    store: Database | Tx,
    { accountId, workspaceId }: Pick<MemberKey, 'accountId' | 'workspaceId'>,
    permissions: readonly Permission[],
    at: Instant,
    isExempt: () => Promise<boolean> = async () => false,
  ): Promise<void> {
    const { payoutHoldMs } = this.#ports.settings
    if (payoutHoldMs === 0) return
    const member = await membershipIn(store, accountId, workspaceId)
    if (!member) return
    const remaining = permissions.map((code) => holdRemaining(gainedAt(member, code), at, payoutHoldMs))
    const remainingMs = Math.max(0, ...remaining)
    if (remainingMs > 0 && !(await isExempt())) throw payoutHold(remainingMs)
  }

  /**
   * Call when an account registers its first passkey, which may be a thief's. Holds those of the permissions that pay
   * out, in every workspace of the account.
   */
  async holdPayouts(
    tx: Tx,
    { accountId, gained, at }: { accountId: AccountId; gained: 'all' | readonly string[]; at: Instant },
  ): Promise<void> {
    const all = this.#ports.rules.payoutsOf({ roleType: 'OWNER', permissionCodes: [] })
    const payouts = gained === 'all' ? all : all.filter((code) => gained.includes(code))
    if (payouts.length > 0) await holdPayoutsOf(tx, accountId, payouts, at)
  }

  /** Whether the holder of `access` has the permissions of a grant. */
  mayGrant(access: WorkspaceAccess, grant: Grant): boolean {
    return mayGrant(access, grant)
  }

  /**
   * Giving a power needs what using it needs. Every command that gives permissions to a member, a role, an invitation or
   * an API key calls this. Throws ACCESS.PERMISSION_DENIED if the caller lacks a permission of the grant,
   * ACCESS.PASSKEY_REQUIRED if only the session does, ACCESS.STEP_UP_REQUIRED if the grant holds a power, and
   * ACCESS.PAYOUT_HOLD if the caller cannot pay out yet.
   */
  async assertMayGrant(tx: Tx, { caller, access, at }: Grantor, grant: Grant): Promise<void> {
    assertAllowed(access, (each) => mayGrant(each, grant), 'the caller lacks a permission of the grant')
    this.assertSteppedUpFor({ caller, at }, grant)
    const payouts = this.#ports.rules.payoutsOf(grant)
    const member = { accountId: caller.accountId, workspaceId: access.id }
    if (payouts.length > 0) await this.assertNotHeld(tx, member, payouts, at)
  }

  /** Throws ACCESS.STEP_UP_REQUIRED if the grant holds a power, and the caller has not stepped up. */
  assertSteppedUpFor({ caller, at }: Omit<Grantor, 'access'>, grant: Grant): void {
    const { rules, settings } = this.#ports
    if (rules.givesPower(grant)) assertSteppedUp(caller, at, settings.stepUpMs)
  }

  /** Returns undefined if the workspace has no such role. */
  roleName(tx: Tx, workspaceId: WorkspaceId, roleId: RoleId): Promise<string | undefined> {
    return roleNameIn(tx, { workspaceId, roleId })
  }

  /** Throws ACCESS.PAYOUT_HOLD if the actor is a new OWNER and the other member became OWNER before. */
  async assertMayDemote(
    tx: Tx,
    actor: AccountId,
    other: MemberKey & Pick<MembershipRow, 'ownerSince'>,
    at: Instant,
  ): Promise<void> {
    if (other.roleType !== 'OWNER' || other.accountId === actor) return
    const own = await membershipIn(tx, actor, other.workspaceId)
    const since = own?.ownerSince ?? null
    const remainingMs = holdRemaining(since, at, this.#ports.settings.payoutHoldMs)
    if (since !== null && remainingMs > 0 && (other.ownerSince ?? -Infinity) < since) throw payoutHold(remainingMs)
  }

  /**
   * Changes the role of a member. Payout permissions that the earlier role lacked are held. Throws WORKSPACE.LAST_OWNER
   * if no owner would remain.
   */
  async assign(
    tx: Tx,
    member: MemberKey & Pick<Grant, 'permissionCodes'>,
    role: Grant & { id: RoleId },
    { grantedBy, at }: { grantedBy: AccountId; at: Instant },
  ): Promise<void> {
    if (role.roleType !== 'OWNER') await assertOwnerRemains(tx, member)
    const earlier = { roleType: member.roleType, permissionCodes: member.permissionCodes }
    const gain = isWidened(earlier, role) ? this.#gainOf(role, grantedBy) : null
    const held = this.#ports.rules.payoutsOf(earlier)
    const payouts = gain?.payouts.filter((code) => !held.includes(code)) ?? []
    await setRole(tx, member, { roleId: role.id, gain: gain && { ...gain, payouts } }, at)
  }

  /** Records that the members of a role gain permissions, and holds those that pay out. */
  async recordGained(
    tx: Tx,
    role: { workspaceId: WorkspaceId; roleId: RoleId },
    permissionCodes: readonly string[],
    { grantedBy, at }: { grantedBy: AccountId; at: Instant },
  ): Promise<void> {
    if (permissionCodes.length > 0) await recordGrowth(tx, role, { grantedBy, at })
    const payouts = this.#ports.rules.payoutsOf({ roleType: 'CUSTOM', permissionCodes })
    if (payouts.length > 0) await holdMembersOf(tx, role, payouts, at)
  }

  /**
   * Call before a command restores what a recovery suspended. Throws ACCESS.PERMISSION_DENIED if the member's own
   * permissions are from an account that was recovered.
   */
  async assertMayRestore(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<void> {
    if (await isSuspect(tx, { accountId, workspaceId })) throw denied('the permissions are from a recovered account')
  }

  /** Restores a suspended member, whose payout permissions are held again. Returns false if it is not suspended. */
  restore(
    tx: Tx,
    member: Pick<MemberKey, 'accountId' | 'workspaceId'>,
    role: Grant,
    { grantedBy, at }: { grantedBy: AccountId | null; at: Instant },
  ): Promise<boolean> {
    return restoreMembership(tx, member, this.#gainOf(role, grantedBy), at)
  }

  /** Throws STATE.CONFLICT if an owner can run the workspace. The workspace must be locked. */
  async assertWithoutOwner(tx: Tx, workspaceId: WorkspaceId): Promise<void> {
    const owners = await activeOwners(tx, workspaceId)
    if (owners.some(({ policyConfig }) => mayActAsOwner(policyConfig)))
      throw conflict('the workspace has an owner who can run it')
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
    const role = await roleIn(tx, { workspaceId, roleId })
    const earlier = await membershipIn(tx, accountId, workspaceId)
    const grantedBy = null
    const isNew = await this.add(tx, { workspaceId, accountId, roleId, joinSource: 'RESTORATION', grantedBy }, at)
    const gain = earlier?.roleType === 'OWNER' ? null : this.#gainOf(role, grantedBy)
    if (!isNew) await setRole(tx, { workspaceId, accountId }, { roleId, gain }, at)
    await this.restore(tx, { workspaceId, accountId }, role, { grantedBy, at })
    const member = await membershipIn(tx, accountId, workspaceId)
    if (!member || !mayActAsOwner(member.policyConfig))
      throw conflict('limits of the membership do not allow to run the workspace')
  }

  /** Ends a membership. Throws WORKSPACE.LAST_OWNER if no owner would remain. */
  async remove(tx: Tx, member: MemberKey): Promise<void> {
    await assertOwnerRemains(tx, member)
    await removeMembership(tx, member.accountId, member.workspaceId)
  }
}

function payoutHold(remainingMs: number): Refusal {
  return new Refusal('ACCESS.PAYOUT_HOLD', { internal: 'gained recently', retryAfter: wholeSeconds(remainingMs) })
}

/** Another active owner must be able to run the workspace. */
async function assertOwnerRemains(tx: Tx, { roleType, workspaceId, accountId }: MemberKey): Promise<void> {
  if (roleType !== 'OWNER') return
  const others = await otherOwners(tx, workspaceId, accountId)
  if (!others.some(({ policyConfig }) => mayActAsOwner(policyConfig))) throw new Refusal('WORKSPACE.LAST_OWNER')
}
