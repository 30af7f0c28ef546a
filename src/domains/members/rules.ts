import { z } from 'zod'
import type {
  Instant,
  Permission,
  RoleType,
  WorkspaceAccess,
  WorkspaceId,
  WorkspaceStatus,
} from '../../kernel/index.ts'

export interface MembershipFacts {
  workspaceId: WorkspaceId
  workspaceStatus: WorkspaceStatus
  roleType: RoleType
  permissionCodes: readonly string[]
  policyConfig: unknown
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

/** Invalid limits count as the strictest ones. */
const parseLimits = (policyConfig: unknown): Limits => {
  if (policyConfig === null) return unlimited
  const parsed = Limits.safeParse(policyConfig)
  return parsed.success ? parsed.data : strictest
}

export const isEnterable = ({ workspaceStatus, policyConfig }: MembershipFacts): boolean =>
  workspaceStatus === 'ACTIVE' && parseLimits(policyConfig).enterable

export const mayBeDefault = (policyConfig: unknown): boolean => {
  const { enterable, defaultEligible } = parseLimits(policyConfig)
  return enterable && defaultEligible
}

export const mayActAsOwner = (policyConfig: unknown): boolean => {
  const { enterable, readOnly } = parseLimits(policyConfig)
  return enterable && !readOnly
}

/** The permissions with which money can leave a workspace. */
const payoutPermissions: readonly string[] = ['transfer:create', 'withdrawal:create', 'withdrawal-channel:manage']

export const grantsPayouts = (grant: { type: RoleType; permissionCodes: readonly string[] }): boolean =>
  grant.type === 'OWNER' || grant.permissionCodes.some((code) => payoutPermissions.includes(code))

/** Returns 0 without a hold. */
export const holdRemaining = (ownerSince: Instant | null, at: Instant, holdMs: number): number =>
  ownerSince === null ? 0 : Math.max(0, ownerSince + holdMs - at)

export const isDefaultEligible = (membership: MembershipFacts): boolean =>
  isEnterable(membership) && mayBeDefault(membership.policyConfig)

/** The memberships must have the order of membershipsOf. */
export const findDefault = <M extends MembershipFacts & { isDefault: boolean }>(
  memberships: readonly M[],
): M | undefined => memberships.find(({ isDefault }) => isDefault) ?? memberships.find(isDefaultEligible)

export class AccessRules {
  readonly #all: ReadonlySet<Permission>
  readonly #reads: ReadonlySet<Permission>

  /** @param permissions all workspace permissions */
  constructor(permissions: readonly Permission[]) {
    this.#all = new Set(permissions)
    this.#reads = new Set(permissions.filter((code) => code.endsWith(':read')))
  }

  /** An owner has all permissions. Stored codes that no longer exist are ignored. */
  accessOf({ workspaceId, roleType, permissionCodes, policyConfig }: MembershipFacts): WorkspaceAccess {
    const isOwner = roleType === 'OWNER'
    const held = isOwner ? this.#all : this.#all.intersection(new Set(permissionCodes))
    const permissions = parseLimits(policyConfig).readOnly ? held.intersection(this.#reads) : held
    return { id: workspaceId, isOwner, permissions }
  }
}
