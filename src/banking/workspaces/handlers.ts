import { bizId, createHandlerTable, type HandlerTable, mapPage, type Request, type Words } from '../../kernel/index.ts'
import { toListParameters } from '../../ledger/index.ts'
import { auditContextOf } from '../../platform/audit/index.ts'
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
import { toWorkspaceView } from './view.ts'

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
      const { sortBy, workspaceStatus: status, workspaceKind: kind, workspaceName: name, workspaceId } = query
      const id = workspaceId === undefined ? undefined : bizId<'workspace'>(workspaceId)
      const found = await listWorkspaces(ports, { ...toListParameters(query), sortBy, status, kind, name, id })
      return mapPage(found, (row) => toWorkspaceView(words, row, locale))
    },
    freezeWorkspace: (request) => changeStatus(request, 'freeze'),
    unfreezeWorkspace: (request) => changeStatus(request, 'unfreeze'),
  })
}
