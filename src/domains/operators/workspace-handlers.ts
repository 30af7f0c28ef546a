import * as contract from '../../contract/operator-workspaces.ts'
import {
  type HandlerTable,
  handlerTable,
  idInPath,
  type Locale,
  mapPage,
  toIso,
  type Words,
} from '../../kernel/index.ts'
import { listing } from '../../ledger/index.ts'
import { actOf } from '../../platform/audit/index.ts'
import type { Database } from '../../platform/database/index.ts'
import { changeWorkspace } from './workspaces.ts'
import { listWorkspaces, type WorkspaceRow } from './workspaces-store.ts'

const record = (value: unknown): Record<string, unknown> | null =>
  typeof value === 'object' && value !== null ? { ...value } : null

export const workspaceHandlers = (database: Database, words: Words): HandlerTable => {
  const render = (row: WorkspaceRow, locale: Locale) => ({
    bizId: row.id,
    institutionBizId: row.institutionId,
    entityBizId: row.entityId,
    workspaceName: row.name,
    workspaceTimezone: row.timezone,
    workspaceStatus: words.coded('workspaceStatus', row.status, locale),
    workspaceKind: words.coded('workspaceKind', row.kind, locale),
    extraData: record(row.extraData),
    createdAt: toIso(row.createdAt),
    updatedAt: toIso(row.updatedAt),
  })
  return handlerTable(contract, {
    listWorkspaces: async ({ query, locale }) => {
      const { sortBy, workspaceStatus: status, workspaceKind: kind, workspaceName: name } = query
      const found = await listWorkspaces(database, { ...listing(query), sortBy, status, kind, name })
      return mapPage(found, (row) => render(row, locale))
    },
    freezeWorkspace: async (request) => {
      const id = idInPath<'workspace'>(request.params.workspace_id)
      return render(await changeWorkspace(database, actOf(request), id, 'freeze', request.body.reason), request.locale)
    },
    unfreezeWorkspace: async (request) => {
      const id = idInPath<'workspace'>(request.params.workspace_id)
      return render(
        await changeWorkspace(database, actOf(request), id, 'unfreeze', request.body.reason),
        request.locale,
      )
    },
  })
}
