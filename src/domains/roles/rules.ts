import { type Permission, Refusal, type RoleType, type WorkspaceAccess } from '../../kernel/index.ts'

/** What a grant hands over: a set of rights, or everything. */
export interface Grant {
  type: RoleType
  permissionCodes: readonly string[]
}

const denied = (internal: string): Refusal => new Refusal('ACCESS.PERMISSION_DENIED', { internal })

/** Nobody grants what they lack; what belongs to owners is given by owners. */
export const requireMayGrant = (by: WorkspaceAccess, { type, permissionCodes }: Grant): void => {
  if (type === 'OWNER' && !by.isOwner) throw denied('only an owner makes an owner')
  const held: ReadonlySet<string> = by.permissions
  const lacking = permissionCodes.find((code) => !held.has(code))
  if (lacking !== undefined) throw denied(`the caller lacks ${lacking}`)
}

/** An owner is given another role by an owner only. */
export const requireMayReassign = (by: WorkspaceAccess, current: RoleType): void => {
  if (current === 'OWNER' && !by.isOwner) throw denied('only an owner changes an owner')
}

/** The OWNER role is what it is. */
export const requireCustom = ({ type }: { type: RoleType }): void => {
  if (type === 'OWNER') throw denied('the OWNER role is fixed')
}

/** What a replacement adds to a role: only this needs to be held by whoever grants it. */
export const added = (before: readonly string[], after: readonly string[]): string[] =>
  after.filter((code) => !before.includes(code))

/** The codes as the permission table orders them; an owner's are all of it. */
export const heldCodes = ({ type, permissionCodes }: Grant, all: readonly Permission[]): Permission[] =>
  type === 'OWNER' ? [...all] : all.filter((code) => permissionCodes.includes(code))
