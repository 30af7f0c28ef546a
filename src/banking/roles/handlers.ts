import {
  bizId,
  type Caller,
  createHandlerTable,
  type HandlerTable,
  type Locale,
  type RequestContext,
  type Words,
  type WorkspaceAccess,
} from '../../kernel/index.ts'
import { auditContextOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import type { PermissionTrees } from './permission-tree.ts'
import { heldCodes } from './rules.ts'
import {
  changeMemberRole,
  createRole,
  deleteRole,
  listRoles,
  listSuspendedRoles,
  type RoleContext,
  type RolePorts,
  readRole,
  removeMember,
  restoreMember,
  restoreRole,
  setRolePermissions,
  updateRole,
} from './service.ts'
import type { RoleRow } from './store.ts'
import { toMemberRoleView, toRoleView } from './view.ts'

export interface RoleHandlerPorts extends RolePorts {
  words: Words
  trees: PermissionTrees
}

export function createHandlers(ports: RoleHandlerPorts): HandlerTable {
  const { words, trees, permissions } = ports
  const toView = (role: RoleRow, locale: Locale) => toRoleView(words, role, permissions, locale)

  return createHandlerTable(contract, {
    listRoles: async ({ workspace, locale }) =>
      (await listRoles(ports, workspace.id)).map((role) => toView(role, locale)),
    readRole: async ({ workspace, params, locale }) =>
      toView(await readRole(ports, workspace.id, bizId(params.role_id)), locale),
    listRolePermissions: async ({ workspace, params }) =>
      heldCodes(await readRole(ports, workspace.id, bizId(params.role_id)), permissions),
    listSuspendedPermissions: async ({ workspace }) =>
      (await listSuspendedRoles(ports, workspace.id)).map(({ bizId, roleName, suspendedCodes }) => ({
        bizId,
        roleName,
        permissionCodes: suspendedCodes,
      })),
    readPermissionTree: async ({ caller, locale }) => trees.read(caller.portal, locale),
    createRole: async (request) => {
      const { roleName, description = '', permissionCodes } = request.body
      const created = await createRole(ports, { roleName, description, permissionCodes }, contextOf(request))
      return toView(created, request.locale)
    },
    updateRole: async (request) => {
      const { roleBizId, roleName, description } = request.body
      const input = { id: bizId<'role'>(roleBizId), roleName, description }
      return toView(await updateRole(ports, input, contextOf(request)), request.locale)
    },
    setRolePermissions: async (request) => {
      const { roleBizId, permissionCodes } = request.body
      const input = { id: bizId<'role'>(roleBizId), permissionCodes }
      return toView(await setRolePermissions(ports, input, contextOf(request)), request.locale)
    },
    restoreRolePermissions: async (request) =>
      toView(await restoreRole(ports, bizId(request.body.roleBizId), contextOf(request)), request.locale),
    deleteRole: async (request) => {
      await deleteRole(ports, bizId(request.body.roleBizId), contextOf(request))
      return null
    },
    changeMemberRole: async (request) => {
      const { userBizId, roleBizId } = request.body
      const input = { accountId: bizId<'account'>(userBizId), roleId: bizId<'role'>(roleBizId) }
      const { bizId: roleId, roleName, roleType } = await changeMemberRole(ports, input, contextOf(request))
      return toMemberRoleView({ accountId: input.accountId, roleId, roleName, roleType }, request)
    },
    removeMember: async (request) => {
      await removeMember(ports, bizId(request.body.userBizId), contextOf(request))
      return null
    },
    restoreMember: async (request) =>
      toMemberRoleView(await restoreMember(ports, bizId(request.body.userBizId), contextOf(request)), request),
  })
}

function contextOf(request: RequestContext & { caller: Caller; workspace: WorkspaceAccess }): RoleContext {
  return {
    caller: request.caller,
    auditContext: auditContextOf(request),
    access: request.workspace,
  }
}
