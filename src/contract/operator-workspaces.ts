import * as z from 'zod'
import { operation } from '../kernel/index.ts'
import { codeOf, listQuery, page, text } from './common.ts'
import { reason } from './formats.ts'
import { operator } from './policies.ts'
import { Workspace } from './workspaces.ts'

export const listWorkspaces = operation({
  id: 'operators.listWorkspaces',
  method: 'GET',
  path: '/workspaces',
  chains: ['system'],
  summary: 'Workspaces, by filter',
  policy: { ...operator, permission: 'workspace:read' },
  query: listQuery(['createdAt', 'updatedAt', 'workspaceName'], {
    workspaceStatus: codeOf('workspaceStatus').optional(),
    workspaceKind: codeOf('workspaceKind').optional(),
    workspaceName: text(128).optional(),
  }),
  body: 'none',
  reply: page(Workspace),
  refuses: [],
})

const freezing = {
  method: 'POST',
  chains: ['system'],
  policy: { ...operator, permission: 'workspace:freeze', changesRights: true },
  body: z.strictObject({ reason }),
  reply: Workspace,
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'],
} as const

export const freezeWorkspace = operation({
  ...freezing,
  id: 'operators.freezeWorkspace',
  path: '/workspaces/{workspace_id}/freeze',
  summary: 'Close a workspace to its members',
})

export const unfreezeWorkspace = operation({
  ...freezing,
  id: 'operators.unfreezeWorkspace',
  path: '/workspaces/{workspace_id}/unfreeze',
  summary: 'Open a frozen workspace again; never one’s own',
})
