import { type Locale, type Permission, roleType, toIso, type Words } from '../../kernel/index.ts'
import { heldCodes } from './rules.ts'
import type { RoleRow } from './store.ts'

/** `permissions` is every workspace permission that exists. */
export const toRoleView = (words: Words, role: RoleRow, permissions: readonly Permission[], locale: Locale) => ({
  bizId: role.id,
  workspaceBizId: role.workspaceId,
  roleName: role.name,
  description: role.description,
  roleType: words.coded(roleType, role.type, locale),
  permissionCodes: heldCodes(role, permissions),
  createdAt: toIso(role.createdAt),
  updatedAt: toIso(role.updatedAt),
})
