import { permissionTable, workspacePermissions } from '../../contract/permissions.ts'
import type { HandlerTable, Words } from '../../kernel/index.ts'
import { createHandlers } from './handlers.ts'
import { permissionTrees } from './permission-tree.ts'
import { createService, type RolePorts } from './service.ts'

export const createRoles = ({ words, ...ports }: RolePorts & { words: Words }): { handlers: HandlerTable } => ({
  handlers: createHandlers({
    service: createService(ports),
    words,
    all: workspacePermissions,
    tree: permissionTrees(permissionTable.workspace, words),
  }),
})
