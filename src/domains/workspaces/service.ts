import { type Database, inTransaction } from '../../database/index.ts'
import { type AccountId, Refusal, type WorkspaceId, type WorkspaceKind } from '../../kernel/index.ts'

import { type Act, recordAct } from '../../platform/audit/index.ts'
import { makeDefault } from './default-store.ts'
import type { Members } from './members.ts'
import { type MembershipRow, membershipIn, membershipsOf } from './membership-store.ts'
import type { OpenWorkspace } from './opening.ts'
import { defaultOf, isDefaultEligible } from './rules.ts'
import { updateWorkspace, type WorkspaceChanges, type WorkspaceRow, workspaceById } from './store.ts'

export interface AskedWorkspace {
  name: string
  timezone: string | undefined
  kind: WorkspaceKind
}

/** Between the gate and here a membership or workspace can end; that is answered as at the gate. */
const gone = (): Refusal => new Refusal('ACCESS.PERMISSION_DENIED', { internal: 'the membership has just ended' })

const present = <T>(row: T | undefined): T => {
  if (row === undefined) throw gone()
  return row
}

export const createService = (database: Database, members: Members, provide: OpenWorkspace) => ({
  mine: async (accountId: AccountId): Promise<MembershipRow[]> => {
    const all = await membershipsOf(database, accountId)
    const meant = defaultOf(all)
    return all.map((row) => ({ ...row, isDefault: row === meant }))
  },

  read: async (id: WorkspaceId): Promise<WorkspaceRow> => present(await workspaceById(database, id)),

  create: (act: Act, asked: AskedWorkspace): Promise<WorkspaceRow> =>
    inTransaction(database, async (tx) => {
      await members.requireRoom(tx, act.accountId)
      const { workspaceId } = await provide(tx, {
        ...asked,
        ownerId: act.accountId,
        joinSource: 'CREATION',
        at: act.at,
      })
      await recordAct(tx, act, { workspaceId, targetId: workspaceId, detail: { kind: asked.kind } })
      return present(await workspaceById(tx, workspaceId))
    }),

  update: (act: Act, id: WorkspaceId, changes: WorkspaceChanges): Promise<WorkspaceRow> =>
    inTransaction(database, async (tx) => {
      const changed = await updateWorkspace(tx, id, changes, act.at)
      await recordAct(tx, act, { workspaceId: id, targetId: id })
      return changed
    }),

  setDefault: (act: Act, id: WorkspaceId): Promise<MembershipRow> =>
    inTransaction(database, async (tx) => {
      await makeDefault(tx, act.accountId, id, act.at)
      // Read while the membership is held: nobody bars it from being the default in between.
      const membership = present(await membershipIn(tx, act.accountId, id))
      if (!isDefaultEligible(membership)) {
        throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: 'the membership may not be the default' })
      }
      await recordAct(tx, act, { workspaceId: id, targetId: act.accountId })
      return membership
    }),

  leave: (act: Act, id: WorkspaceId): Promise<void> =>
    inTransaction(database, async (tx) => {
      await members.hold(tx, id)
      await members.remove(tx, present(await members.find(tx, act.accountId, id)))
      await recordAct(tx, act, { workspaceId: id, targetId: act.accountId })
    }),
})

export type WorkspaceService = ReturnType<typeof createService>
