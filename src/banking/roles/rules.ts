import type { OwnerNoticeKind } from '../../api/notices.ts'
import type { Grant } from '../../contract/permissions.ts'
import { assertAllowed, denied, type Permission, type RoleType, type WorkspaceAccess } from '../../kernel/index.ts'

export function assertMayReassign(access: WorkspaceAccess, current: RoleType): void {
  if (current !== 'OWNER') return
  assertAllowed(access, ({ isOwner }) => isOwner, 'only an owner can change or remove an owner')
}

export function assertCustom({ roleType }: { roleType: RoleType }): void {
  if (roleType === 'OWNER') throw denied('the OWNER role cannot be changed')
}

/** The caller must hold these permissions. */
export function addedCodes(before: readonly string[], after: readonly string[]): string[] {
  return after.filter((code) => !before.includes(code))
}

/** Returns undefined if the new role grants nothing more. */
export function noticeKindOf(before: Grant, after: Grant): OwnerNoticeKind | undefined {
  if (before.roleType === 'OWNER') return after.roleType === 'OWNER' ? undefined : 'OWNER_REMOVED'
  if (after.roleType === 'OWNER') return 'OWNER_ADDED'
  return addedCodes(before.permissionCodes, after.permissionCodes).length > 0 ? 'MEMBER_WIDENED' : undefined
}

/** Returns the permissions of a role in the order of `all`. OWNER has all of them. */
export function heldCodes({ roleType, permissionCodes }: Grant, all: readonly Permission[]): Permission[] {
  return roleType === 'OWNER' ? [...all] : all.filter((code) => permissionCodes.includes(code))
}
