import { type Permission, Refusal, type RoleType, type WorkspaceAccess } from '../../kernel/index.ts'

/** The permissions that a role grants. OWNER grants all of them. */
export interface Grant {
  type: RoleType
  permissionCodes: readonly string[]
}

const denied = (internal: string): Refusal => new Refusal('ACCESS.PERMISSION_DENIED', { internal })

/** Refuses a caller who lacks a granted permission, or who grants OWNER without being an owner. */
export const assertMayGrant = (access: WorkspaceAccess, { type, permissionCodes }: Grant): void => {
  if (type === 'OWNER' && !access.isOwner) throw denied('only an owner can grant OWNER')
  const held: ReadonlySet<string> = access.permissions
  const lacking = permissionCodes.find((code) => !held.has(code))
  if (lacking !== undefined) throw denied(`the caller lacks ${lacking}`)
}

/** Refuses a caller who changes the role of an owner without being one. */
export const assertMayReassign = (access: WorkspaceAccess, current: RoleType): void => {
  if (current === 'OWNER' && !access.isOwner) throw denied('only an owner can change the role of an owner')
}

/** Refuses to change the OWNER role. */
export const assertCustom = ({ type }: { type: RoleType }): void => {
  if (type === 'OWNER') throw denied('the OWNER role cannot be changed')
}

/** Returns the permissions that a replacement adds. The caller must hold these. */
export const addedCodes = (before: readonly string[], after: readonly string[]): string[] =>
  after.filter((code) => !before.includes(code))

/** Returns the permissions of a role in the order of `all`. OWNER has all of them. */
export const heldCodes = ({ type, permissionCodes }: Grant, all: readonly Permission[]): Permission[] =>
  type === 'OWNER' ? [...all] : all.filter((code) => permissionCodes.includes(code))
