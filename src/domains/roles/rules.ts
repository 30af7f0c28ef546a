import { type Permission, Refusal, type RoleType, type WorkspaceAccess } from '../../kernel/index.ts'

/** What a role grants: some permissions, or all of them to an owner. */
export interface Grant {
  type: RoleType
  permissionCodes: readonly string[]
}

const denied = (internal: string): Refusal => new Refusal('ACCESS.PERMISSION_DENIED', { internal })

/** Nobody grants a permission that they lack, and only owners make owners. */
export const assertMayGrant = (access: WorkspaceAccess, { type, permissionCodes }: Grant): void => {
  if (type === 'OWNER' && !access.isOwner) throw denied('only an owner makes an owner')
  const held: ReadonlySet<string> = access.permissions
  const lacking = permissionCodes.find((code) => !held.has(code))
  if (lacking !== undefined) throw denied(`the caller lacks ${lacking}`)
}

/** Only an owner gives an owner another role. */
export const assertMayReassign = (access: WorkspaceAccess, current: RoleType): void => {
  if (current === 'OWNER' && !access.isOwner) throw denied('only an owner changes an owner')
}

/** The OWNER role cannot change. */
export const assertCustom = ({ type }: { type: RoleType }): void => {
  if (type === 'OWNER') throw denied('the OWNER role is fixed')
}

/** The codes that a replacement adds to a role: the caller has to hold only these. */
export const addedCodes = (before: readonly string[], after: readonly string[]): string[] =>
  after.filter((code) => !before.includes(code))

/** The permissions of a role in the order of the table. An owner holds all of them. */
export const heldCodes = ({ type, permissionCodes }: Grant, all: readonly Permission[]): Permission[] =>
  type === 'OWNER' ? [...all] : all.filter((code) => permissionCodes.includes(code))
