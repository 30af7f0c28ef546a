import { z } from 'zod'
import { declaredBy, domain } from '../../api/domain.ts'
import { positive } from '../../config/values.ts'
import { addMs, type HandlerTable, type Words } from '../../kernel/index.ts'
import type { EventMapper } from '../../platform/events/index.ts'
import * as contract from './contract.ts'
import { roleEvents } from './events.ts'
import { suspendGrantsOf } from './grant-store.ts'
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

export function createRoles(ports: RolesPorts): { handlers: HandlerTable; events: EventMapper[] } {
  const permissions = ports.permissionTable.map(({ code }) => code)
  return {
    events: [roleEvents(ports.words, permissions)],
    handlers: createHandlers({
      ...ports,
      permissions,
      trees: new PermissionTrees(ports.permissionTable, ports.words),
    }),
  }
}

const ownerNotices = ['ROLE_CREATED', 'ROLE_RENAMED', 'ROLE_WIDENED', 'MEMBER_WIDENED'] as const

declare module '../../api/notices.ts' {
  interface NoticesByDomain {
    roles: typeof ownerNotices
  }
}
const settings = z.strictObject({
  maxPerWorkspace: positive.describe(
    'Maximum number of roles per workspace, including OWNER. Creating a further role gets 409.',
  ),
})

export default domain({
  name: 'roles',
  ...declaredBy(contract),
  locales: new URL('./locales/', import.meta.url),
  ownerNotices,
  migrations,
  settings,
  settingsKey: 'access.roles',
  defaults: { maxPerWorkspace: 100 },
  uses: ['members'],
  needs: ['accounts', 'database', 'ids', 'permissions', 'sessions', 'transaction', 'words'],
  create: ({ use, accounts: { suspicionWindowMs }, sessions, permissions, ...ports }) => {
    const { handlers, events } = createRoles({
      ...ports,
      members: use('members').memberships,
      assertSessionOpen: sessions.assertOpen,
      notices: use('members').notices,
      permissionTable: permissions.workspace,
    })
    return {
      handlers,
      events,
      onAccountRecovered: (tx, { accountId, at }) =>
        suspendGrantsOf(tx, { accountId, since: addMs(at, -suspicionWindowMs), at }),
    }
  },
})
