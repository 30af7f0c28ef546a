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
 * `policyConfig` of a membership: its limits in addition to its role. A membership that is not enterable is only listed. A
 * read-only one has only `:read` permissions. One that is not default-eligible cannot be the default.
 */
const Limits = z.object({
  enterable: z.boolean().default(true),
  defaultEligible: z.boolean().default(true),
  readOnly: z.boolean().default(false),
})
type Limits = z.output<typeof Limits>

const unlimited: Limits = { enterable: true, defaultEligible: true, readOnly: false }
const strictest: Limits = { enterable: false, defaultEligible: false, readOnly: true }

/** Parses the limits of a membership. Invalid limits count as the strictest ones. */
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

/** The membership of a request without a workspace: the default one, or the first eligible one in the store's order. */
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

  /** The permissions of a membership. Owners hold all of them. Ignores codes that no longer exist. */
  accessOf({ workspaceId, roleType, permissionCodes, policyConfig }: MembershipFacts): WorkspaceAccess {
    const isOwner = roleType === 'OWNER'
    const held = isOwner ? this.#all : this.#all.intersection(new Set(permissionCodes))
    const permissions = parseLimits(policyConfig).readOnly ? held.intersection(this.#reads) : held
    return { id: workspaceId, isOwner, permissions }
  }
}
