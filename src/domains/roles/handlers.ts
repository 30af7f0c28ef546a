import {
  bizId,
  type Caller,
  createHandlerTable,
  type HandlerTable,
  type Locale,
  type Permission,
  type RequestContext,
  roleType,
  toIso,
  type Words,
  type WorkspaceAccess,
} from '../../kernel/index.ts'

import { actOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import type { PermissionNode } from './permission-tree.ts'
import { heldCodes } from './rules.ts'
import type { Acting, RoleService } from './service.ts'
import type { RoleRow } from './store.ts'

export interface RoleHandlerPorts {
  service: RoleService
  words: Words
  /** Every right of a workspace. */
  all: readonly Permission[]
  tree(locale: Locale): PermissionNode[]
}

const acting = (request: RequestContext & { caller: Caller; workspace: WorkspaceAccess }): Acting => ({
  act: actOf(request),
  by: request.workspace,
})

export const createHandlers = ({ service, words, all, tree }: RoleHandlerPorts): HandlerTable => {
  const reply = (role: RoleRow, locale: Locale) => ({
    bizId: role.id,
    workspaceBizId: role.workspaceId,
    roleName: role.name,
    description: role.description,
    roleType: words.coded(roleType, role.type, locale),
    permissionCodes: heldCodes(role, all),
    createdAt: toIso(role.createdAt),
    updatedAt: toIso(role.updatedAt),
  })

  return createHandlerTable(contract, {
    listRoles: async ({ workspace, locale }) => (await service.list(workspace.id)).map((role) => reply(role, locale)),
    readRole: async ({ workspace, params, locale }) =>
      reply(await service.read(workspace.id, bizId(params.role_id)), locale),
    listRolePermissions: async ({ workspace, params }) =>
      heldCodes(await service.read(workspace.id, bizId(params.role_id)), all),
    readPermissionTree: async ({ locale }) => tree(locale),
    createRole: async (request) => {
      const { roleName, description, permissionCodes } = request.body
      const asked = { name: roleName, description: description ?? '', permissionCodes }
      return reply(await service.create(acting(request), asked), request.locale)
    },
    updateRole: async (request) => {
      const { roleBizId, roleName, description } = request.body
      const changed = await service.update(acting(request), bizId(roleBizId), { name: roleName, description })
      return reply(changed, request.locale)
    },
    setRolePermissions: async (request) => {
      const { roleBizId, permissionCodes } = request.body
      return reply(await service.setPermissions(acting(request), bizId(roleBizId), permissionCodes), request.locale)
    },
    deleteRole: async (request) => {
      await service.delete(acting(request), bizId(request.body.roleBizId))
      return null
    },
    changeMemberRole: async (request) => {
      const { userBizId, roleBizId } = request.body
      const role = await service.changeMember(acting(request), bizId(userBizId), bizId(roleBizId))
      return {
        userBizId,
        workspaceBizId: role.workspaceId,
        workspaceRoleBizId: role.id,
        workspaceRoleName: role.name,
        isOwner: role.type === 'OWNER',
        updatedAt: toIso(request.receivedAt),
      }
    },
  })
}
