import { declaredBy, domain } from '../../api/domain.ts'
import type { HandlerTable, Words } from '../../kernel/index.ts'
import * as contract from './contract.ts'
import { createHandlers } from './handlers.ts'
import { PermissionTrees, type TreeRow } from './permission-tree.ts'
import { migrations } from './schema.ts'
import type { RolePorts } from './service.ts'

/*
 * Roles of a workspace and the permissions that they grant. The catalogue collects the permissions of all domains and
 * passes them in. Start reading in `rules.ts`.
 */

export interface RolesPorts extends Omit<RolePorts, 'permissions'> {
  words: Words
  /** In the order in which the tree lists them. */
  permissionTable: readonly TreeRow[]
}

export const createRoles = (ports: RolesPorts): { handlers: HandlerTable } => ({
  handlers: createHandlers({
    ...ports,
    permissions: ports.permissionTable.map(({ code }) => code),
    trees: new PermissionTrees(ports.permissionTable, ports.words),
  }),
})

export default domain({
  name: 'roles',
  ...declaredBy(contract),
  migrations,
  uses: ['members'],
  create: ({ use, catalogue, configuration, ...ports }) =>
    createRoles({
      ...ports,
      members: use('members').memberships,
      notices: use('members').notices,
      permissionTable: catalogue.permissionTable.workspace,
      settings: configuration.access.roles,
    }),
})
