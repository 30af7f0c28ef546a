import * as contract from '../../contract/operator-workspaces.ts'
import {
  bizId,
  type HandlerTable,
  handlerTable,
  isBizId,
  type Locale,
  mapPage,
  notFound,
  toIso,
  type Words,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { listing } from '../../ledger/index.ts'
import { actOf } from '../../platform/audit/index.ts'
import type { Database } from '../../platform/database/index.ts'
import { changeWorkspace } from './workspaces.ts'
import { listWorkspaces, type WorkspaceRow } from './workspaces-store.ts'

/** What can be no id names no workspace; the store is not asked. */
const workspaceId = (text: string): WorkspaceId => {
  if (!isBizId(text)) throw notFound('malformed workspace id')
  return bizId(text)
}

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
      const id = workspaceId(request.params.workspace_id)
      return render(await changeWorkspace(database, actOf(request), id, 'freeze', request.body.reason), request.locale)
    },
    unfreezeWorkspace: async (request) => {
      const id = workspaceId(request.params.workspace_id)
      return render(
        await changeWorkspace(database, actOf(request), id, 'unfreeze', request.body.reason),
        request.locale,
      )
    },
  })
}
