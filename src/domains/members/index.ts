import { declaredBy, domain } from '../../api/domain.ts'
import type { Database } from '../../database/index.ts'
import type { Caller, HandlerTable, Permission, Words, WorkspaceAccess, WorkspaceId } from '../../kernel/index.ts'
import * as contract from './contract.ts'
import { createHandlers } from './handlers.ts'
import { Memberships, type MembershipsPorts } from './memberships.ts'
import { AccessRules } from './rules.ts'
import { migrations } from './schema.ts'
import { enterWorkspace } from './service.ts'

/*
 * Memberships of workspaces, with their roles and limits. Other domains change members through the class in
 * `memberships.ts`; the gateway reads a caller's access to a workspace through `enter`. Start reading in `rules.ts`.
 */

export type { Memberships } from './memberships.ts'

export interface MembersPorts extends Omit<MembershipsPorts, 'rules'> {
  database: Database
  words: Words
  /** All workspace permissions. */
  permissions: readonly Permission[]
  hasWorkspace(id: WorkspaceId): Promise<boolean>
}

export interface Members {
  handlers: HandlerTable
  memberships: Memberships
  /**
   * Returns the caller's access to a workspace, or to the default one for null. Implements the gateway's WorkspacePort.
   */
  enter(caller: Caller, workspaceId: string | null): Promise<WorkspaceAccess>
}

/** Builds the domain. */
export const createMembers = (ports: MembersPorts): Members => {
  const rules = new AccessRules(ports.permissions)
  const memberships = new Memberships({ ...ports, rules })
  return {
    handlers: createHandlers({ ...ports, memberships }),
    memberships,
    enter: (caller, workspaceId) => enterWorkspace({ database: ports.database, rules }, caller, workspaceId),
  }
}

declare module '../../api/services.ts' {
  interface DomainServices {
    members: Pick<Members, 'memberships' | 'enter'>
  }
}

export default domain({
  name: 'members',
  ...declaredBy(contract),
  migrations,
  create: ({ workspaces, catalogue, configuration, ...ports }) => {
    const { handlers, ...service } = createMembers({
      ...ports,
      permissions: catalogue.workspacePermissions,
      settings: configuration.access.workspaces,
      lockWorkspace: workspaces.lock,
      hasWorkspace: workspaces.exists,
    })
    return { handlers, service }
  },
})
