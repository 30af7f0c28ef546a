import * as z from 'zod'
import { left, narrowed } from '../../contract/events/caused.ts'
import { type Events, event } from '../../contract/events/event.ts'
import { bizId, coded, id, line, nothing, partialUpdate, reason, text, timestamp } from '../../contract/fields.ts'
import { listQuery, page } from '../../contract/lists.ts'

import type { Permissions } from '../../contract/permissions.ts'
import { member, operator, own } from '../../contract/policies.ts'
import { type CodeOf, codedFamily, operation, workspaceKind } from '../../kernel/index.ts'

export const permissions = {
  workspace: { member: { sortOrder: 200, actions: ['read'] } },
  operator: { member: { sortOrder: 400, actions: ['limit'], powers: ['limit'] } },
} as const satisfies Permissions

export const codes = {
  'ACCESS.PAYOUT_HOLD': { status: 403 },
  'WORKSPACE.LAST_OWNER': { status: 422 },
} as const

declare module '../../kernel/codes.ts' {
  interface CodesByOwner {
    members: typeof codes
  }
}

export const joinSource = codedFamily('joinSource', {
  REGISTRATION: 10050201,
  INVITATION: 10050202,
  CREATION: 10050203,
  RESTORATION: 10050204,
})
export type JoinSource = CodeOf<typeof joinSource>

/** See `CodeDomains` in src/contract/catalogue.ts. */
export const codeDomains = { joinSource: { INVITATION: 'invitations', RESTORATION: 'proposals' } }

/** A membership, as its own member sees it. */
export const Membership = z.object({
  userBizId: bizId,
  workspaceBizId: bizId,
  workspaceName: z.string(),
  workspaceKind: coded(workspaceKind),
  institutionBizId: bizId,
  workspaceRoleBizId: bizId,
  workspaceRoleName: z.string(),
  joinSource: coded(joinSource),
  isOwner: z.boolean(),
  isDefault: z.boolean(),
  enterable: z.boolean(),
  defaultEligible: z.boolean(),
  policyConfig: z.record(z.string(), z.unknown()).nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
})

/** A membership, as other people see it: with the member's name and address, without the default workspace. */
const Member = Membership.pick({
  userBizId: true,
  workspaceBizId: true,
  workspaceRoleBizId: true,
  workspaceRoleName: true,
  joinSource: true,
  isOwner: true,
  enterable: true,
  defaultEligible: true,
  policyConfig: true,
  createdAt: true,
  updatedAt: true,
}).extend({
  accountName: z.string(),
  accountEmail: z.string(),
  /** When the recovery of an account suspended the member. */
  suspendedAt: timestamp.nullable(),
})

const memberEvent = {
  data: Member,
  audience: 'workspace',
  permission: 'member:read',
  operatorPermission: 'workspace:read',
} as const

export const events = {
  'member.joined': event({ ...memberEvent, summary: 'A person became a member.' }),
  'member.role_changed': event({ ...memberEvent, summary: 'A member got another role.' }),
  'member.suspended': event({ ...memberEvent, summary: 'The recovery of an account suspended a member.' }),
  'member.restored': event({ ...memberEvent, summary: 'A suspended member was restored.' }),
  'member.limits_changed': event({ ...memberEvent, summary: 'An operator changed the limits of a member.' }),
  'member.removed': event({ ...memberEvent, summary: 'A member left or was removed.' }),
} as const satisfies Events

declare global {
  interface PorticoEvents {
    members: typeof events
  }
}

/** Applies in addition to the role. An omitted field sets no limit. */
const PolicyConfig = partialUpdate({
  enterable: z.boolean().optional(),
  defaultEligible: z.boolean().optional(),
  readOnly: z.boolean().optional(),
})

const ownMembership = {
  method: 'POST',
  chains: ['consumer'],
  policy: { ...own, workspace: 'optional', changesRights: true },
  body: 'none',
} as const

export const listMyWorkspaces = operation({
  id: 'workspaces.mine',
  method: 'GET',
  path: '/workspaces/mine',
  chains: ['consumer'],
  summary: 'List the workspaces of the caller',
  policy: own,
  body: 'none',
  reply: z.array(Membership),
  refuses: [],
})

export const setDefaultWorkspace = operation({
  ...ownMembership,
  id: 'workspaces.setDefault',
  path: '/workspaces/current/default',
  summary: 'Make a workspace the caller’s default',
  reply: Membership,
  refuses: [],
})

export const leaveWorkspace = operation({
  ...ownMembership,
  id: 'workspaces.leave',
  path: '/workspaces/current/leave',
  emits: left,
  summary: 'Leave a workspace',
  policy: { ...ownMembership.policy, stepUp: 'maybe' },
  withoutEntry: true,
  reply: nothing,
  confirms: [],
  refuses: ['WORKSPACE.LAST_OWNER'],
})

const list = {
  method: 'GET',
  body: 'none',
  query: listQuery(['createdAt', 'updatedAt', 'accountName'], {
    roleBizId: id.optional(),
    accountName: line(128).optional(),
    accountEmail: text(320).optional(),
  }),
  reply: page(Member),
} as const

export const listMembers = operation({
  ...list,
  id: 'workspaces.listMembers',
  path: '/roles/members',
  chains: ['consumer'],
  summary: 'List the members of a workspace with their roles',
  policy: { ...member, workspace: 'optional', permission: 'member:read' },
  refuses: [],
})

export const listMembersOf = operation({
  ...list,
  id: 'workspaces.listMembersOf',
  path: '/workspaces/{workspace_id}/members',
  chains: ['system'],
  summary: 'List the members of any workspace',
  policy: { ...operator, permission: 'workspace:read' },
  refuses: ['RESOURCE.NOT_FOUND'],
})

export const limitMember = operation({
  id: 'workspaces.limitMember',
  method: 'POST',
  path: '/workspaces/{workspace_id}/members/policy',
  emits: ['member.limits_changed', ...narrowed],
  chains: ['system'],
  summary: 'Set or remove the limits of a membership',
  policy: { ...operator, permission: 'member:limit', stepUp: true, changesRights: true },
  confirms: ['workspace_id', 'userBizId', 'policyConfig'],
  purpose: ({ userBizId: account }) => ({ payee: { account } }),
  body: z.strictObject({ userBizId: id, policyConfig: PolicyConfig.nullable(), reason }),
  reply: Member,
  refuses: ['RESOURCE.NOT_FOUND'],
})
