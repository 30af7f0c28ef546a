import { type DomainServices, declaredBy, domain } from '../../api/domain.ts'
import type { Tx } from '../../database/index.ts'
import type { HandlerTable, Words } from '../../kernel/index.ts'
import type { EventMapper } from '../../platform/events/index.ts'
import * as contract from './contract.ts'
import { workspaceEvents } from './events.ts'
import { createHandlers } from './handlers.ts'
import { type OpenedWorkspace, type Opening, openWorkspace, openWorkspaceWithWallets } from './open-workspace.ts'
import { countPendingOrders } from './pending-orders.ts'
import { migrations } from './schema.ts'
import type { WorkspaceServicePorts } from './service.ts'
import { freezeOwnWorkspace, hasWorkspace, insertRole, lockWorkspace } from './store.ts'

/**
 * Creates, changes and freezes workspaces. The `members` domain manages members, and `roles` manages roles.
 * Registration and the seed open workspaces through `open-workspace.ts`. Start reading in `service.ts`.
 */

export { openWorkspace } from './open-workspace.ts'
export { freezeOwnWorkspace, hasWorkspace, lockWorkspace } from './store.ts'

export interface WorkspacePorts extends WorkspaceServicePorts {
  words: Words
}

export interface Workspaces {
  handlers: HandlerTable
  events: EventMapper[]
  /** Opens a workspace with its owner but without wallets, for the seed. */
  open(tx: Tx, opening: Opening): Promise<OpenedWorkspace>
  /** Opens a workspace with its wallets, for registration. */
  openWithWallets(tx: Tx, opening: Opening): Promise<OpenedWorkspace>
  /** Adds a role to a new workspace, for the seed. */
  addRole: typeof insertRole
}

export function createWorkspaces(ports: WorkspacePorts): Workspaces {
  return {
    handlers: createHandlers(ports),
    events: [workspaceEvents(ports.words)],
    open: (tx, opening) => openWorkspace(ports, opening, tx),
    openWithWallets: (tx, opening) => openWorkspaceWithWallets(ports, opening, tx),
    addRole: insertRole,
  }
}

declare module '../../api/ports.ts' {
  interface DomainServices {
    workspaces: Pick<Workspaces, 'open' | 'openWithWallets' | 'addRole'> & WorkspacesPort
  }
}

export default domain({
  name: 'workspaces',
  ...declaredBy(contract),
  locales: new URL('./locales/', import.meta.url),
  migrations,
  uses: ['members'],
  needs: ['database', 'hooks', 'ids', 'ledger', 'transaction', 'words'],
  create: ({ use, hooks, ...ports }) => {
    const { handlers, events, ...opening } = createWorkspaces({
      ...ports,
      members: use('members').memberships,
      openWallets: hooks.workspaceOpened,
      countPendingOrders: (tx, id, at) => countPendingOrders(ports.ledger, tx, id, at),
    })
    const service: DomainServices['workspaces'] = {
      ...opening,
      lock: lockWorkspace,
      exists: (id) => hasWorkspace(ports.database, id),
      freezeOwn: freezeOwnWorkspace,
    }
    return { handlers, events, service }
  },
})
