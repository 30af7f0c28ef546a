import { z } from 'zod'
import type { Permission, RoleType, WorkspaceAccess, WorkspaceId, WorkspaceStatus } from '../../kernel/index.ts'

/** What decides how far a membership reaches. */
export interface Standing {
  workspaceId: WorkspaceId
  workspaceStatus: WorkspaceStatus
  roleType: RoleType
  permissionCodes: readonly string[]
  policyConfig: unknown
}

/**
 * `policyConfig` of a membership: what it is limited to beside its role. A membership that is not enterable is
 * listed and no more; a read-only one keeps the `:read` rights; one may be barred from being the default.
 */
const Limits = z.object({
  enterable: z.boolean().default(true),
  defaultEligible: z.boolean().default(true),
  readOnly: z.boolean().default(false),
})
const unlimited = { enterable: true, defaultEligible: true, readOnly: false }
const closed = { enterable: false, defaultEligible: false, readOnly: true }

/** A limit that cannot be read is taken for the strictest. */
const limitsOf = (policyConfig: unknown): z.output<typeof Limits> => {
  if (policyConfig === null) return unlimited
  const parsed = Limits.safeParse(policyConfig)
  return parsed.success ? parsed.data : closed
}

/** Whether the member may work in it: the workspace is active, and the membership is not barred. */
export const isEnterable = ({ workspaceStatus, policyConfig }: Standing): boolean =>
  workspaceStatus === 'ACTIVE' && limitsOf(policyConfig).enterable

/** Whether these limits leave a membership to be the default. */
export const mayBeDefault = (policyConfig: unknown): boolean => {
  const { enterable, defaultEligible } = limitsOf(policyConfig)
  return enterable && defaultEligible
}

/** Whether these limits leave an owner able to run the workspace. */
export const mayActAsOwner = (policyConfig: unknown): boolean => {
  const { enterable, readOnly } = limitsOf(policyConfig)
  return enterable && !readOnly
}

/** Whether the member may make it their default. */
export const isDefaultEligible = (standing: Standing): boolean =>
  isEnterable(standing) && mayBeDefault(standing.policyConfig)

/** The one that is meant where none is named: what was made the default, else the first that may be it. */
export const defaultOf = <M extends Standing & { isDefault: boolean }>(inOrder: readonly M[]): M | undefined =>
  inOrder.find(({ isDefault }) => isDefault) ?? inOrder.find(isDefaultEligible)

const reads = (code: Permission): boolean => code.endsWith(':read')

/** How far memberships reach, given every right that a workspace knows. An owner has them all. */
export const accessRule = (all: readonly Permission[]): ((standing: Standing) => WorkspaceAccess) => {
  const everything: ReadonlySet<Permission> = new Set(all)
  const reading: ReadonlySet<Permission> = new Set(all.filter(reads))
  const known = new Map<string, Permission>(all.map((code) => [code, code]))
  const chosen = (codes: readonly string[]) => new Set(codes.flatMap((code) => known.get(code) ?? []))

  return ({ workspaceId, roleType, permissionCodes, policyConfig }) => {
    const isOwner = roleType === 'OWNER'
    const held = isOwner ? everything : chosen(permissionCodes)
    const permissions = limitsOf(policyConfig).readOnly ? held.intersection(reading) : held
    return { id: workspaceId, isOwner, permissions }
  }
}
