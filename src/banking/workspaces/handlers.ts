import type { z } from 'zod'
import {
  bizId,
  createHandlerTable,
  type HandlerTable,
  type Locale,
  mapPage,
  type Request,
  toIso,
  type Words,
  workspaceKind,
  workspaceStatus,
} from '../../kernel/index.ts'
import { toListParameters } from '../../ledger/index.ts'
import { auditContextOf } from '../../platform/audit/index.ts'
import type { Workspace } from './contract.ts'
import * as contract from './contract.ts'
import {
  changeWorkspaceStatus,
  createWorkspace,
  listWorkspaces,
  readWorkspace,
  type StatusCommand,
  updateWorkspace,
  type WorkspaceServicePorts,
} from './service.ts'
import type { WorkspaceRow } from './store.ts'

type StatusRequest = Request<typeof contract.freezeWorkspace> | Request<typeof contract.unfreezeWorkspace>

export function createHandlers(ports: WorkspaceServicePorts & { words: Words }): HandlerTable {
  const { words } = ports

  const changeStatus = async (request: StatusRequest, command: StatusCommand) => {
    const input = { id: bizId<'workspace'>(request.params.workspace_id), command, reason: request.body.reason }
    const { pending, ...row } = await changeWorkspaceStatus(ports, input, auditContextOf(request))
    return { ...toWorkspaceView(words, row, request.locale), pending }
  }

  return createHandlerTable(contract, {
    createWorkspace: async (request) => {
      const { workspaceName: name, workspaceTimezone: timezone, workspaceKind: kind = 'LIVE' } = request.body
      const created = await createWorkspace(ports, { name, timezone, kind }, auditContextOf(request))
      return toWorkspaceView(words, created, request.locale)
    },
    readCurrentWorkspace: async ({ workspace, locale }) =>
      toWorkspaceView(words, await readWorkspace(ports, workspace.id), locale),
    updateCurrentWorkspace: async (request) => {
      const { workspaceName: name, workspaceTimezone: timezone, extraData } = request.body
      const input = { id: request.workspace.id, name, timezone, extraData }
      return toWorkspaceView(words, await updateWorkspace(ports, input, auditContextOf(request)), request.locale)
    },
    listWorkspaces: async ({ query, locale }) => {
      const { sortBy, workspaceStatus: status, workspaceKind: kind, workspaceName: name } = query
      const found = await listWorkspaces(ports, { ...toListParameters(query), sortBy, status, kind, name })
      return mapPage(found, (row) => toWorkspaceView(words, row, locale))
    },
    freezeWorkspace: (request) => changeStatus(request, 'freeze'),
    unfreezeWorkspace: (request) => changeStatus(request, 'unfreeze'),
  })
}

function toWorkspaceView(words: Words, row: WorkspaceRow, locale: Locale): z.input<typeof Workspace> {
  return {
    bizId: row.id,
    institutionBizId: row.institutionId,
    entityBizId: row.entityId,
    workspaceName: row.name,
    workspaceTimezone: row.timezone,
    workspaceStatus: words.coded(workspaceStatus, row.status, locale),
    workspaceKind: words.coded(workspaceKind, row.kind, locale),
    extraData: toRecord(row.extraData),
    createdAt: toIso(row.createdAt),
    updatedAt: toIso(row.updatedAt),
  }
}

function toRecord(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null ? { ...value } : null
}
