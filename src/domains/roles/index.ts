import type { HandlerTable, Words } from '../../kernel/index.ts'
import { createHandlers } from './handlers.ts'
import { PermissionTrees, type TreeRow } from './permission-tree.ts'
import type { RolePorts } from './service.ts'

/*
 * The roles of a workspace and the permissions that they grant. Which permissions exist comes from the catalogue, which
 * collects them from every domain. Start reading in `rules.ts`.
 */

export interface RolesPorts extends Omit<RolePorts, 'permissions'> {
  words: Words
  /** Every workspace permission that exists, in order. */
  permissionTable: readonly TreeRow[]
}

export const createRoles = (ports: RolesPorts): { handlers: HandlerTable } => ({
  handlers: createHandlers({
    ...ports,
    permissions: ports.permissionTable.map(({ code }) => code),
    trees: new PermissionTrees(ports.permissionTable, ports.words),
  }),
})
