import * as z from 'zod'
import { timezone } from '../../contract/account-fields.ts'
import { opened } from '../../contract/events/caused.ts'
import { statusEvents } from '../../contract/events/event.ts'
import { bizId, coded, codeOf, id, line, reason, text, timestamp } from '../../contract/fields.ts'
import { listQuery, page } from '../../contract/lists.ts'
import type { Permissions } from '../../contract/permissions.ts'
import { member, operator, own } from '../../contract/policies.ts'
import { operation, workspaceKind, workspaceStatus } from '../../kernel/index.ts'

export const summary = 'Workspaces and the caller’s memberships.'

export const permissions = {
  workspace: { workspace: { sortOrder: 100, actions: ['read', 'update'], peopleOnly: ['update'] } },
  operator: { workspace: { sortOrder: 300, actions: ['read', 'freeze'], powers: ['freeze'] } },
} as const satisfies Permissions

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

export const events = statusEvents('workspace', workspaceStatus.codes, {
  object: 'A workspace',
  data: Workspace,
  audience: 'workspace',
  permission: 'workspace:read',
})

declare global {
  interface PorticoEvents {
    workspaces: typeof events
  }
}

const workspaceName = line(128)
const workspaceTimezone = timezone.optional()

/** Texts that a portal stores with a workspace. Null removes all of them. */
const extraData = z
  .record(z.string().regex(/^[A-Za-z][\w.-]{0,63}$/), text(512, 0))
  .refine((record) => Object.keys(record).length <= 64)
  .meta({ maxProperties: 64 })
  .nullable()

const common = { chains: ['consumer'] } as const

export const createWorkspace = operation({
  ...common,
  id: 'workspaces.create',
  method: 'POST',
  path: '/workspaces',
  emits: opened,
  summary: 'Create a workspace',
  policy: { ...own, changesRights: true },
  body: z.strictObject({ workspaceName, workspaceTimezone, workspaceKind: codeOf(workspaceKind).optional() }),
  reply: Workspace,
  refuses: ['STATE.CONFLICT'],
})

export const readCurrentWorkspace = operation({
  ...common,
  id: 'workspaces.current',
  method: 'GET',
  path: '/workspaces/current',
  summary: 'Read the current workspace',
  policy: { ...member, workspace: 'optional', permission: 'workspace:read' },
  body: 'none',
  reply: Workspace,
  refuses: [],
})

export const updateCurrentWorkspace = operation({
  ...common,
  method: 'POST',
  id: 'workspaces.update',
  path: '/workspaces/current/update',
  summary: 'Update fields of the current workspace',
  policy: { ...member, workspace: 'optional', permission: 'workspace:update' },
  // Without a field, the workspace stays unchanged.
  body: z.strictObject({
    workspaceName: workspaceName.optional(),
    workspaceTimezone,
    extraData: extraData.optional(),
  }),
  reply: Workspace,
  refuses: [],
})

export const listWorkspaces = operation({
  id: 'operators.listWorkspaces',
  method: 'GET',
  path: '/workspaces',
  chains: ['system'],
  summary: 'List all workspaces',
  policy: { ...operator, permission: 'workspace:read' },
  query: listQuery(['createdAt', 'updatedAt', 'workspaceName'], {
    workspaceStatus: codeOf(workspaceStatus).optional(),
    workspaceKind: codeOf(workspaceKind).optional(),
    workspaceName: line(128).optional(),
    workspaceId: id.optional(),
  }),
  body: 'none',
  reply: page(Workspace),
  refuses: [],
})

const freezing = {
  method: 'POST',
  chains: ['system'],
  policy: { ...operator, permission: 'workspace:freeze', stepUp: true, changesRights: true },
  body: z.strictObject({ reason }),
  reply: Workspace,
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'],
} as const

/** Numbers of orders that wait for an operator. */
const pending = z.object({
  withdrawals: countOf('withdrawals'),
  transfers: countOf('transfers'),
  recharges: countOf('recharges'),
})

export const freezeWorkspace = operation({
  ...freezing,
  reply: Workspace.extend({ pending }),
  id: 'operators.freezeWorkspace',
  path: '/workspaces/{workspace_id}/freeze',
  emits: ['workspace.frozen'],
  summary: 'Freeze a workspace',
})

export const unfreezeWorkspace = operation({
  ...freezing,
  id: 'operators.unfreezeWorkspace',
  path: '/workspaces/{workspace_id}/unfreeze',
  emits: ['workspace.active'],
  summary: 'Unfreeze a workspace',
})

/** The OpenAPI document omits a field while the domain in `x-domain` is off. */
function countOf(domain: string) {
  return z.int().optional().meta({ 'x-domain': domain })
}
