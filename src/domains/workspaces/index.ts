import { workspacePermissions } from '../../contract/permissions.ts'
import type { Database } from '../../database/index.ts'
import type { HandlerTable, Ids, Words } from '../../kernel/index.ts'
import { createGate, type Gate } from './gate.ts'
import { createHandlers } from './handlers.ts'
import { createMemberHandlers } from './member-handlers.ts'
import { createMemberService } from './member-service.ts'
import { createMembers, type Members, type MembershipSettings } from './members.ts'
import { type OpenWallets, type OpenWorkspace, workspaceOpener, workspaceProvider } from './opening.ts'
import { createOperatorHandlers } from './operator-handlers.ts'
import { accessRule } from './rules.ts'
import { createService } from './service.ts'
import { insertRole } from './store.ts'

export type { Gate } from './gate.ts'
export type { Members } from './members.ts'
export type { OpenWallets, OpenWorkspace } from './opening.ts'
export { freezeOwnWorkspace } from './operator-store.ts'

const accessOf = accessRule(workspacePermissions)

export const workspaceMembers = (settings: MembershipSettings): Members => createMembers(accessOf, settings)

export interface WorkspacePorts {
  database: Database
  words: Words
  ids: Ids
  members: Members
  openWallets: OpenWallets
}

export interface Workspaces {
  handlers: HandlerTable
  gate: Gate
  members: Members
  /** A workspace and its owner, without wallets: for the seed, which opens its own. */
  open: OpenWorkspace
  /** The same with the wallets of a new workspace: for registration. */
  provide: OpenWorkspace
  addRole: typeof insertRole
}

export const createWorkspaces = (ports: WorkspacePorts): Workspaces => {
  const { database, words, ids, members, openWallets } = ports
  const provide = workspaceProvider({ ids, openWallets })
  return {
    handlers: new Map([
      ...createHandlers(createService(database, members, provide), words),
      ...createMemberHandlers(createMemberService(database, members), words),
      ...createOperatorHandlers({ database, members }, words),
    ]),
    gate: createGate(database, accessOf),
    members,
    open: workspaceOpener(ids),
    provide,
    addRole: insertRole,
  }
}
