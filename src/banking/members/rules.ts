import { z } from 'zod'
import type { Grant, PermissionRow } from '../../contract/permissions.ts'
import {
  type Caller,
  type Instant,
  type Permission,
  type RoleType,
  toInstant,
  type WorkspaceAccess,
  type WorkspaceId,
  type WorkspaceStatus,
} from '../../kernel/index.ts'

export interface MembershipFacts {
  workspaceId: WorkspaceId
  workspaceStatus: WorkspaceStatus
  roleType: RoleType
  permissionCodes: readonly string[]
  policyConfig: unknown
  suspendedAt: Instant | null
}

/**
 * Without `enterable`, the member only sees the workspace in lists. With `readOnly`, the member has only `:read`
 * permissions. Without `defaultEligible`, the workspace cannot be the member's default.
 */
const Limits = z.object({
  enterable: z.boolean().default(true),
  defaultEligible: z.boolean().default(true),
  readOnly: z.boolean().default(false),
})
type Limits = z.output<typeof Limits>

const unlimited: Limits = { enterable: true, defaultEligible: true, readOnly: false }
const strictest: Limits = { enterable: false, defaultEligible: false, readOnly: true }

export function isEnterable({ workspaceStatus, policyConfig, suspendedAt }: MembershipFacts): boolean {
  return workspaceStatus === 'ACTIVE' && suspendedAt === null && parseLimits(policyConfig).enterable
}

export function mayBeDefault(policyConfig: unknown): boolean {
  const { enterable, defaultEligible } = parseLimits(policyConfig)
  return enterable && defaultEligible
}

export function mayActAsOwner(policyConfig: unknown): boolean {
  const { enterable, readOnly } = parseLimits(policyConfig)
  return enterable && !readOnly
}

/** Nobody grants what they lack. */
export function mayGrant(
  access: Pick<WorkspaceAccess, 'isOwner' | 'permissions'>,
  { roleType, permissionCodes }: Grant,
): boolean {
  const held: ReadonlySet<string> = access.permissions
  return roleType === 'OWNER' ? access.isOwner : permissionCodes.every((code) => held.has(code))
}

/** Whether the later role gives a permission that the earlier one lacks. */
export function isWidened(before: Grant, after: Grant): boolean {
  if (before.roleType === 'OWNER') return false
  return after.roleType === 'OWNER' || after.permissionCodes.some((code) => !before.permissionCodes.includes(code))
}

export interface HoldFacts {
  ownerSince: Instant | null
  /** When the member gained each payout permission. */
  payoutsSince: unknown
}

const PayoutsSince = z.record(z.string(), z.int().transform(toInstant))

/** Becoming OWNER starts the hold of every payout permission. Returns null for one that was never gained. */
export function gainedAt({ ownerSince, payoutsSince }: HoldFacts, permission: Permission): Instant | null {
  const since = PayoutsSince.parse(payoutsSince)[permission] ?? null
  return ownerSince !== null && (since === null || ownerSince > since) ? ownerSince : since
}

/** Returns 0 without a hold. */
export function holdRemaining(since: Instant | null, at: Instant, holdMs: number): number {
  return since === null ? 0 : Math.max(0, since + holdMs - at)
}

export function isDefaultEligible(membership: MembershipFacts): boolean {
  return isEnterable(membership) && mayBeDefault(membership.policyConfig)
}

/** The memberships must have the order of membershipsOf. */
export function findDefault<M extends MembershipFacts & { isDefault: boolean }>(
  memberships: readonly M[],
): M | undefined {
  return memberships.find(({ isDefault }) => isDefault) ?? memberships.find(isDefaultEligible)
}

export class AccessRules {
  readonly #all: ReadonlySet<Permission>
  readonly #reads: ReadonlySet<Permission>
  readonly #powers: ReadonlySet<Permission>
  readonly #payouts: ReadonlySet<Permission>

  /** @param table all workspace permissions */
  constructor(table: readonly PermissionRow[]) {
    const codesThat = (isIncluded: (row: PermissionRow) => boolean) =>
      new Set(table.filter(isIncluded).map(({ code }) => code))
    this.#all = codesThat(() => true)
    this.#reads = codesThat(({ action }) => action === 'read')
    this.#powers = codesThat(({ isPower }) => isPower)
    this.#payouts = codesThat(({ isPayout }) => isPayout)
  }

  #heldBy({ roleType, permissionCodes }: Grant): ReadonlySet<Permission> {
    return roleType === 'OWNER' ? this.#all : this.#all.intersection(new Set(permissionCodes))
  }

  givesPower(grant: Grant): boolean {
    return !this.#heldBy(grant).isDisjointFrom(this.#powers)
  }

  payoutsOf(grant: Grant): Permission[] {
    return [...this.#heldBy(grant).intersection(this.#payouts)]
  }

  /** An owner has all permissions. Stored codes that no longer exist are ignored. */
  accessOf({ workspaceId, roleType, permissionCodes, policyConfig }: MembershipFacts): WorkspaceAccess {
    const isOwner = roleType === 'OWNER'
    const held = this.#heldBy({ roleType, permissionCodes })
    const permissions = parseLimits(policyConfig).readOnly ? held.intersection(this.#reads) : held
    return { id: workspaceId, isOwner, permissions }
  }
}

/** A session that lacks a permission does not act as an owner: owners give every permission. */
export function withhold(access: WorkspaceAccess, { withheldByWorkspaces: withheld }: Caller): WorkspaceAccess {
  if (withheld === undefined) return access
  const permissions = withheld === 'all' ? new Set<Permission>() : access.permissions.difference(withheld)
  return { id: access.id, isOwner: false, permissions, withPasskey: access }
}

/** Invalid limits count as the strictest ones. */
function parseLimits(policyConfig: unknown): Limits {
  if (policyConfig === null) return unlimited
  const parsed = Limits.safeParse(policyConfig)
  return parsed.success ? parsed.data : strictest
}
