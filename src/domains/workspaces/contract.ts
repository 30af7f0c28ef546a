import * as z from 'zod'
import { timezone } from '../../contract/account-fields.ts'
import { bizId, coded, codeOf, nothing, partialUpdate, text, timestamp } from '../../contract/fields.ts'
import { member, own } from '../../contract/policies.ts'
import { type CodeOf, codedFamily, operation, workspaceKind, workspaceStatus } from '../../kernel/index.ts'

/** The description of the OpenAPI tag. */
export const summary = 'Workspaces and the caller’s membership in them.'

export const joinSource = codedFamily('joinSource', {
  REGISTRATION: 10050201,
  INVITATION: 10050202,
  CREATION: 10050203,
})
export type JoinSource = CodeOf<typeof joinSource>

export const Workspace = z.object({
  bizId,
  institutionBizId: bizId,
  entityBizId: bizId.nullable(),
  workspaceName: z.string(),
  workspaceTimezone: z.string(),
  workspaceStatus: coded(workspaceStatus),
  workspaceKind: coded(workspaceKind),
  extraData: z.record(z.string(), z.unknown()).nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
})

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

const workspaceName = text(128)
const workspaceTimezone = timezone.optional()

/** Texts that a portal keeps with a workspace; null empties it. */
const extraData = z
  .record(z.string().regex(/^[A-Za-z][\w.-]{0,63}$/), text(512, 0))
  .refine((record) => Object.keys(record).length <= 64)
  .meta({ maxProperties: 64 })
  .nullable()

const common = { chains: ['consumer'] } as const
const current = { ...common, method: 'POST', body: 'none' } as const
const ownMembership = { ...own, workspace: 'optional', changesRights: true } as const

export const createWorkspace = operation({
  ...common,
  id: 'workspaces.create',
  method: 'POST',
  path: '/workspaces',
  summary: 'Create a workspace and own it',
  policy: { ...own, changesRights: true },
  body: z.strictObject({ workspaceName, workspaceTimezone, workspaceKind: codeOf(workspaceKind).optional() }),
  reply: Workspace,
  refuses: ['STATE.CONFLICT'],
})

export const listMyWorkspaces = operation({
  ...common,
  id: 'workspaces.mine',
  method: 'GET',
  path: '/workspaces/mine',
  summary: 'The account’s memberships',
  policy: own,
  body: 'none',
  reply: z.array(Membership),
  refuses: [],
})

export const readCurrentWorkspace = operation({
  ...common,
  id: 'workspaces.current',
  method: 'GET',
  path: '/workspaces/current',
  summary: 'The header’s workspace, else the default one',
  policy: { ...member, workspace: 'optional', permission: 'workspace:read' },
  body: 'none',
  reply: Workspace,
  refuses: [],
})

export const updateCurrentWorkspace = operation({
  ...current,
  id: 'workspaces.update',
  path: '/workspaces/current/update',
  summary: 'Change the fields of the workspace that are given',
  policy: { ...member, workspace: 'optional', permission: 'workspace:update' },
  body: partialUpdate({
    workspaceName: workspaceName.optional(),
    workspaceTimezone,
    extraData: extraData.optional(),
  }),
  reply: Workspace,
  refuses: [],
})

export const setDefaultWorkspace = operation({
  ...current,
  id: 'workspaces.setDefault',
  path: '/workspaces/current/default',
  summary: 'Make the workspace the account’s default',
  policy: ownMembership,
  reply: Membership,
  refuses: [],
})

export const leaveWorkspace = operation({
  ...current,
  id: 'workspaces.leave',
  path: '/workspaces/current/leave',
  summary: 'Leave the workspace; the last owner stays',
  policy: ownMembership,
  reply: nothing,
  refuses: ['WORKSPACE.LAST_OWNER'],
})
