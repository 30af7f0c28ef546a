import { permissionTable, workspacePermissions } from '../../contract/permissions.ts'
import type { HandlerTable, Ids, Words } from '../../kernel/index.ts'
import type { Database } from '../../platform/database/index.ts'
import { createHandlers } from './handlers.ts'
import { permissionTrees } from './permission-tree.ts'
import { createService, type MembersPort } from './service.ts'

export type { MembersPort } from './service.ts'

export interface RolesPorts {
  database: Database
  words: Words
  ids: Ids
  members: MembersPort
}

export const createRoles = ({ database, words, ids, members }: RolesPorts): { handlers: HandlerTable } => ({
  handlers: createHandlers({
    service: createService({ database, ids, members }),
    words,
    all: workspacePermissions,
    tree: permissionTrees(permissionTable.workspace, words),
  }),
})
