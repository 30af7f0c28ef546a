import * as z from 'zod'
import { left, narrowed } from '../../contract/events/caused.ts'
import { type Events, event } from '../../contract/events/event.ts'
import { bizId, changesSomething, coded, id, line, nothing, orNone, text, timestamp } from '../../contract/fields.ts'

import { type Permissions, permissionCodes as permissionCodesOf } from '../../contract/permissions.ts'

import { member } from '../../contract/policies.ts'
import { type ConfirmedTexts, operation, type Purpose, roleType } from '../../kernel/index.ts'

export const summary = 'Roles of a workspace, their permissions, and their assignment to members.'

export const permissions = {
  workspace: {
    // Only operations of this domain require `member:manage`.
    member: { sortOrder: 201, actions: ['manage'], peopleOnly: ['manage'], powers: ['manage'] },
    role: { sortOrder: 300, actions: ['read', 'manage'], peopleOnly: ['manage'], powers: ['manage'] },
  },
} as const satisfies Permissions

const permissionCodes = permissionCodesOf('workspacePermissions')

const Role = z.object({
  bizId,
  workspaceBizId: bizId,
  roleName: z.string(),
  description: z.string(),
  roleType: coded(roleType),
  permissionCodes: z.array(z.string()),
  createdAt: timestamp,
  updatedAt: timestamp,
})

/** No operator reads roles. */
const roleEvent = { data: Role, audience: 'workspace', permission: 'role:read', operatorPermission: null } as const

export const events = {
  'role.created': event({ ...roleEvent, summary: 'A role was created.' }),
  'role.changed': event({ ...roleEvent, summary: 'The name, description or permissions of a role changed.' }),
  'role.deleted': event({ ...roleEvent, summary: 'A role was deleted.' }),
} as const satisfies Events

declare global {
  interface PorticoEvents {
    roles: typeof events
  }
}

const PermissionNode = z.object({
  bizId,
  permissionCode: z.string(),
  permissionName: z.string(),
  permissionDescription: z.string().nullable(),
  parentBizId: bizId.nullable(),
  permissionGroup: z.string(),
  portalVisibility: z.string().nullable(),
  sortOrder: z.int(),
  isEnabled: z.boolean(),
  get children(): z.ZodArray<typeof PermissionNode> {
    return z.array(PermissionNode)
  },
})

/** The permissions of a role that the recovery of an account suspended. */
const SuspendedPermissions = Role.pick({ bizId: true, roleName: true, permissionCodes: true })

const MemberRole = z.object({
  userBizId: bizId,
  workspaceBizId: bizId,
  workspaceRoleBizId: bizId,
  workspaceRoleName: z.string(),
  isOwner: z.boolean(),
  updatedAt: timestamp,
})

const roleName = line(64)
const description = text(256, 0)

const reading = { ...member, workspace: 'required', permission: 'role:read' } as const
const managing = { ...member, workspace: 'required', permission: 'role:manage', changesRights: true } as const
const get = { method: 'GET', chains: ['consumer'], policy: reading, body: 'none' } as const
const post = {
  method: 'POST',
  chains: ['consumer'],
  policy: managing,
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'],
} as const

export const listRoles = operation({
  ...get,
  id: 'roles.list',
  path: '/roles',
  summary: 'List the roles of a workspace',
  reply: z.array(Role),
  refuses: [],
})

export const readRole = operation({
  ...get,
  id: 'roles.read',
  path: '/roles/{role_id}',
  summary: 'Read a role',
  reply: Role,
  refuses: ['RESOURCE.NOT_FOUND'],
})

export const listSuspendedPermissions = operation({
  ...get,
  id: 'roles.listSuspended',
  path: '/roles/suspended',
  summary: 'List the permissions that a recovery suspended',
  reply: z.array(SuspendedPermissions),
  refuses: [],
})

export const listRolePermissions = operation({
  ...get,
  id: 'roles.listPermissions',
  path: '/roles/{role_id}/permissions',
  summary: 'List the permission codes of a role',
  reply: z.array(z.string()),
  refuses: ['RESOURCE.NOT_FOUND'],
})

export const readPermissionTree = operation({
  ...get,
  id: 'roles.permissionTree',
  path: '/roles/permissions/tree',
  summary: 'Read all permissions for roles as a tree',
  policy: { ...reading, workspace: 'optional' },
  reply: z.array(PermissionNode),
  refuses: [],
})

export const createRole = operation({
  ...post,
  id: 'roles.create',
  path: '/roles',
  emits: ['role.created'],
  summary: 'Create a role',
  policy: { ...managing, workspace: 'optional', stepUp: 'maybe' },
  confirms: ['roleName', 'permissionCodes'],
  body: z.strictObject({ roleName, description: orNone(description), permissionCodes }),
  reply: Role,
  refuses: ['STATE.CONFLICT', 'ACCESS.PAYOUT_HOLD'],
})

export const updateRole = operation({
  ...post,
  id: 'roles.update',
  path: '/roles/update',
  emits: ['role.changed'],
  summary: 'Update the name or description of a role',
  policy: { ...post.policy, stepUp: 'maybe' },
  confirms: ['roleBizId', 'roleName', 'description'],
  purpose: ofRole,
  body: z
    .strictObject({ roleBizId: id, roleName: roleName.optional(), description: description.optional() })
    .refine(({ roleBizId: _, ...changes }) => changesSomething(changes))
    .meta({ minProperties: 2 }),
  reply: Role,
})

export const deleteRole = operation({
  ...post,
  id: 'roles.delete',
  path: '/roles/delete',
  emits: ['role.deleted'],
  summary: 'Delete an unused role',
  policy: { ...post.policy, stepUp: 'maybe' },
  confirms: ['roleBizId'],
  purpose: ofRole,
  body: z.strictObject({ roleBizId: id }),
  reply: nothing,
})

export const setRolePermissions = operation({
  ...post,
  id: 'roles.setPermissions',
  path: '/roles/permissions',
  emits: ['role.changed', ...narrowed],
  summary: 'Replace the permissions of a role',
  policy: { ...managing, stepUp: true },
  confirms: ['roleBizId', 'permissionCodes'],
  purpose: ofRole,
  body: z.strictObject({ roleBizId: id, permissionCodes }),
  reply: Role,
  refuses: ['RESOURCE.NOT_FOUND', 'ACCESS.PAYOUT_HOLD'],
})

export const restoreRolePermissions = operation({
  ...post,
  id: 'roles.restore',
  path: '/roles/restore',
  emits: ['role.changed'],
  summary: 'Restore the suspended permissions of a role',
  policy: { ...managing, stepUp: true },
  confirms: ['roleBizId'],
  purpose: ofRole,
  body: z.strictObject({ roleBizId: id }),
  reply: Role,
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT', 'ACCESS.PAYOUT_HOLD'],
})

const managingMembers = {
  ...member,
  workspace: 'optional',
  permission: 'member:manage',
  stepUp: true,
  changesRights: true,
} as const

export const changeMemberRole = operation({
  ...post,
  id: 'roles.changeMember',
  path: '/roles/members/role/change',
  emits: ['member.role_changed', ...narrowed],
  summary: 'Change the role of a member',
  policy: managingMembers,
  confirms: ['userBizId', 'roleBizId'],
  purpose: ({ userBizId: account, roleBizId: role }) => ({ role, payee: { account } }),
  body: z.strictObject({ userBizId: id, roleBizId: id }),
  reply: MemberRole,
  refuses: ['RESOURCE.NOT_FOUND', 'WORKSPACE.LAST_OWNER', 'ACCESS.PAYOUT_HOLD'],
})

export const removeMember = operation({
  ...post,
  id: 'roles.removeMember',
  path: '/roles/members/remove',
  emits: left,
  summary: 'Remove a member from a workspace',
  policy: managingMembers,
  confirms: ['userBizId'],
  purpose: ({ userBizId: account }) => ({ payee: { account } }),
  body: z.strictObject({ userBizId: id }),
  reply: nothing,
  refuses: ['RESOURCE.NOT_FOUND', 'WORKSPACE.LAST_OWNER', 'ACCESS.PAYOUT_HOLD'],
})

export const restoreMember = operation({
  ...post,
  id: 'roles.restoreMember',
  path: '/roles/members/restore',
  emits: ['member.restored'],
  summary: 'Restore a suspended member',
  policy: managingMembers,
  confirms: ['userBizId'],
  purpose: ({ userBizId: account }) => ({ payee: { account } }),
  body: z.strictObject({ userBizId: id }),
  reply: MemberRole,
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT', 'ACCESS.PAYOUT_HOLD'],
})

function ofRole({ roleBizId: role }: ConfirmedTexts): Purpose {
  return { role }
}
