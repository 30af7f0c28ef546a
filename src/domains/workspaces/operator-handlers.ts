import type { Database } from '../../database/index.ts'
import { bizId, createHandlerTable, type HandlerTable, mapPage, type Words } from '../../kernel/index.ts'

import { listing } from '../../ledger/index.ts'
import { actOf } from '../../platform/audit/index.ts'
import * as contract from '../operators/contract.ts'
import { changeWorkspace } from './freezing.ts'
import type { Members } from './members.ts'
import { listWorkspaces } from './operator-store.ts'
import { tellWorkspace } from './render.ts'

interface OperatorPorts {
  database: Database
  members: Pick<Members, 'demandOutsider'>
}

export const createOperatorHandlers = (ports: OperatorPorts, words: Words): HandlerTable =>
  createHandlerTable(contract, {
    listWorkspaces: async ({ query, locale }) => {
      const { sortBy, workspaceStatus: status, workspaceKind: kind, workspaceName: name } = query
      const found = await listWorkspaces(ports.database, { ...listing(query), sortBy, status, kind, name })
      return mapPage(found, (row) => tellWorkspace(words, row, locale))
    },
    freezeWorkspace: async (request) => {
      const id = bizId<'workspace'>(request.params.workspace_id)
      const changed = await changeWorkspace(ports, actOf(request), id, 'freeze', request.body.reason)
      return tellWorkspace(words, changed, request.locale)
    },
    unfreezeWorkspace: async (request) => {
      const id = bizId<'workspace'>(request.params.workspace_id)
      const changed = await changeWorkspace(ports, actOf(request), id, 'unfreeze', request.body.reason)
      return tellWorkspace(words, changed, request.locale)
    },
  })
