import { z } from 'zod'
import type { Permission, RoleType, WorkspaceAccess, WorkspaceId, WorkspaceStatus } from '../../kernel/index.ts'

/** The fields of a membership that determine its access. */
export interface MembershipFacts {
  workspaceId: WorkspaceId
  workspaceStatus: WorkspaceStatus
  roleType: RoleType
  permissionCodes: readonly string[]
  policyConfig: unknown
}

/**
 * The `policyConfig` of a membership, which limits it in addition to its role. A membership that is not enterable only
 * appears in lists. A read-only membership has only `:read` permissions. A membership that is not default-eligible
 * cannot be the default.
 */
const Limits = z.object({
  enterable: z.boolean().default(true),
  defaultEligible: z.boolean().default(true),
  readOnly: z.boolean().default(false),
})
type Limits = z.output<typeof Limits>

const unlimited: Limits = { enterable: true, defaultEligible: true, readOnly: false }
const strictest: Limits = { enterable: false, defaultEligible: false, readOnly: true }

/** Parses the limits of a membership. If they are invalid, the strictest limits apply. */
const parseLimits = (policyConfig: unknown): Limits => {
  if (policyConfig === null) return unlimited
  const parsed = Limits.safeParse(policyConfig)
  return parsed.success ? parsed.data : strictest
}

/** Whether the member can enter the workspace: it is active, and the limits allow it. */
export const isEnterable = ({ workspaceStatus, policyConfig }: MembershipFacts): boolean =>
  workspaceStatus === 'ACTIVE' && parseLimits(policyConfig).enterable

/** Whether these limits allow the membership to be the default. */
export const mayBeDefault = (policyConfig: unknown): boolean => {
  const { enterable, defaultEligible } = parseLimits(policyConfig)
  return enterable && defaultEligible
}

/** Whether these limits allow an owner to run the workspace. */
export const mayActAsOwner = (policyConfig: unknown): boolean => {
  const { enterable, readOnly } = parseLimits(policyConfig)
  return enterable && !readOnly
}

/** Whether the member can make the workspace their default. */
export const isDefaultEligible = (membership: MembershipFacts): boolean =>
  isEnterable(membership) && mayBeDefault(membership.policyConfig)

/**
 * Returns the membership for a request without a workspace: the default one, or else the first one that may be the
 * default, in the order of the store.
 */
export const findDefault = <M extends MembershipFacts & { isDefault: boolean }>(
  memberships: readonly M[],
): M | undefined => memberships.find(({ isDefault }) => isDefault) ?? memberships.find(isDefaultEligible)

/** Derives a member's access to a workspace from the role and the limits of the membership. */
export class AccessRules {
  readonly #all: ReadonlySet<Permission>
  readonly #reads: ReadonlySet<Permission>

  /** @param permissions all workspace permissions */
  constructor(permissions: readonly Permission[]) {
    this.#all = new Set(permissions)
    this.#reads = new Set(permissions.filter((code) => code.endsWith(':read')))
  }

  /**
   * Returns the permissions of a membership. An owner has all permissions. Stored codes that no longer exist are
   * ignored.
   */
  accessOf({ workspaceId, roleType, permissionCodes, policyConfig }: MembershipFacts): WorkspaceAccess {
    const isOwner = roleType === 'OWNER'
    const held = isOwner ? this.#all : this.#all.intersection(new Set(permissionCodes))
    const permissions = parseLimits(policyConfig).readOnly ? held.intersection(this.#reads) : held
    return { id: workspaceId, isOwner, permissions }
  }
}
