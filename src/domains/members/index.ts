import type { Database } from '../../database/index.ts'
import type { Caller, HandlerTable, Permission, Words, WorkspaceAccess, WorkspaceId } from '../../kernel/index.ts'
import { createHandlers } from './handlers.ts'
import { Memberships, type MembershipsPorts } from './memberships.ts'
import { AccessRules } from './rules.ts'
import { enterWorkspace } from './service.ts'

/*
 * Who belongs to a workspace, with which role and which limits. `memberships.ts` is what other domains use to change
 * members; `access.ts` decides for every request what its caller may do. Start reading in `rules.ts`.
 */

export type { Memberships } from './memberships.ts'

export interface MembersPorts extends Omit<MembershipsPorts, 'rules'> {
  database: Database
  words: Words
  /** Every workspace permission that exists. */
  permissions: readonly Permission[]
  hasWorkspace(id: WorkspaceId): Promise<boolean>
}

export interface Members {
  handlers: HandlerTable
  memberships: Memberships
  /** The caller's access to a workspace, or to the default one for null: WorkspacePort of the gateway. */
  enter(caller: Caller, workspaceId: string | null): Promise<WorkspaceAccess>
}

export const createMembers = (ports: MembersPorts): Members => {
  const rules = new AccessRules(ports.permissions)
  const memberships = new Memberships({ ...ports, rules })
  return {
    handlers: createHandlers({ ...ports, memberships }),
    memberships,
    enter: (caller, workspaceId) => enterWorkspace({ database: ports.database, rules }, caller, workspaceId),
  }
}
