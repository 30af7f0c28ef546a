import {
  type Locale,
  type Permission,
  type RequestContext,
  roleType,
  toIso,
  type Words,
  type WorkspaceAccess,
} from '../../kernel/index.ts'
import { heldCodes } from './rules.ts'
import type { RoleMember } from './service.ts'
import type { RoleRow } from './store.ts'

/** Returns a role. `permissions` lists all workspace permissions, which the view of the OWNER role contains. */
export function toRoleView(words: Words, role: RoleRow, permissions: readonly Permission[], locale: Locale) {
  return {
    bizId: role.bizId,
    workspaceBizId: role.workspaceBizId,
    roleName: role.roleName,
    description: role.description,
    roleType: words.coded(roleType, role.roleType, locale),
    permissionCodes: heldCodes(role, permissions),
    createdAt: toIso(role.createdAt),
    updatedAt: toIso(role.updatedAt),
  }
}

export function toMemberRoleView(
  { accountId, roleId, roleName, roleType }: Pick<RoleMember, 'accountId' | 'roleId' | 'roleName' | 'roleType'>,
  { workspace, receivedAt }: RequestContext & { workspace: WorkspaceAccess },
) {
  return {
    userBizId: accountId,
    workspaceBizId: workspace.id,
    workspaceRoleBizId: roleId,
    workspaceRoleName: roleName,
    isOwner: roleType === 'OWNER',
    updatedAt: toIso(receivedAt),
  }
}
