import * as z from 'zod'
import { id, partialUpdate, reason, text } from '../../contract/fields.ts'
import { listQuery, page } from '../../contract/lists.ts'

import { member, operator } from '../../contract/policies.ts'
import { operation } from '../../kernel/index.ts'
import { Membership } from '../workspaces/contract.ts'

export const codes = {
  'WORKSPACE.LAST_OWNER': { status: 422 },
} as const

declare module '../../kernel/codes.ts' {
  interface CodesByOwner {
    members: typeof codes
  }
}

/** A membership as others see it: who it is, and not which workspace they prefer. */
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
}).extend({ accountName: z.string(), accountEmail: z.string() })

/** What a membership is limited to, beside its role; what is left out is not limited. */
const PolicyConfig = partialUpdate({
  enterable: z.boolean().optional(),
  defaultEligible: z.boolean().optional(),
  readOnly: z.boolean().optional(),
})

const list = {
  method: 'GET',
  body: 'none',
  query: listQuery(['createdAt', 'updatedAt', 'accountName'], {
    roleBizId: id.optional(),
    accountName: text(128).optional(),
    accountEmail: text(320).optional(),
  }),
  reply: page(Member),
} as const

export const listMembers = operation({
  ...list,
  id: 'workspaces.listMembers',
  path: '/roles/members',
  chains: ['consumer'],
  summary: 'The workspace’s members with their roles, by role, part of a name or part of an address',
  policy: { ...member, workspace: 'optional', permission: 'member:read' },
  refuses: [],
})

export const listMembersOf = operation({
  ...list,
  id: 'workspaces.listMembersOf',
  path: '/workspaces/{workspace_id}/members',
  chains: ['system'],
  summary: 'The members of any workspace',
  policy: { ...operator, permission: 'workspace:read' },
  refuses: ['RESOURCE.NOT_FOUND'],
})

export const limitMember = operation({
  id: 'workspaces.limitMember',
  method: 'POST',
  path: '/workspaces/{workspace_id}/members/policy',
  chains: ['system'],
  summary: 'Limit a membership by its policyConfig, or lift its limits by null',
  policy: { ...operator, permission: 'member:limit', changesRights: true },
  body: z.strictObject({ userBizId: id, policyConfig: PolicyConfig.nullable(), reason }),
  reply: Member,
  refuses: ['RESOURCE.NOT_FOUND'],
})
