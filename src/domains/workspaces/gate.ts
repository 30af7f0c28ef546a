import type { Database } from '../../database/index.ts'
import { bizId, type Caller, isBizId, Refusal, type WorkspaceAccess, type WorkspaceId } from '../../kernel/index.ts'
import { firstMembershipOf, type MembershipRow, membershipIn, membershipsOf } from './membership-store.ts'
import { defaultOf, isEnterable, type Standing } from './rules.ts'

export interface Gate {
  /** Fits WorkspacePort of the gateway. `workspaceId` null asks for the caller's default workspace. */
  enter(caller: Caller, workspaceId: string | null): Promise<WorkspaceAccess>
}

const denied = (internal: string): Refusal => new Refusal('ACCESS.PERMISSION_DENIED', { internal })

/**
 * Lets members in, by today's roles. It keeps nothing: how long an answer serves is the gateway's to say
 * (docs/decisions/0008). Unknown, foreign and malformed ids are one and the same to a caller. Where none is named it is
 * the default one, else the oldest that may be the default.
 */
export const createGate = (database: Database, accessOf: (standing: Standing) => WorkspaceAccess): Gate => {
  const named = (caller: Caller, id: string): Promise<MembershipRow | undefined> =>
    isBizId(id)
      ? membershipIn(database, caller.accountId, bizId<'workspace'>(id) satisfies WorkspaceId)
      : Promise.resolve(undefined)

  const preferred = async (caller: Caller): Promise<MembershipRow> => {
    const first = await firstMembershipOf(database, caller.accountId)
    if (first?.isDefault) return first
    const meant = first && defaultOf(await membershipsOf(database, caller.accountId))
    if (!meant) throw new Refusal('ACCESS.WORKSPACE_REQUIRED', { internal: 'no workspace may be the default' })
    return meant
  }

  return {
    enter: async (caller, workspaceId) => {
      const membership = await (workspaceId === null ? preferred(caller) : named(caller, workspaceId))
      if (!membership) throw denied('no member of this workspace')
      if (!isEnterable(membership)) throw denied('the workspace cannot be entered')
      return accessOf(membership)
    },
  }
}
