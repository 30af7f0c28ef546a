import { type Database, inTransaction } from '../../database/index.ts'
import { notFound, Refusal, type WorkspaceId, type WorkspaceStatus } from '../../kernel/index.ts'

import { type Act, recordAct } from '../../platform/audit/index.ts'
import type { Members } from './members.ts'
import { setWorkspaceStatus } from './operator-store.ts'
import { lockWorkspace, type WorkspaceRow } from './store.ts'

const steps = {
  freeze: { from: 'ACTIVE', to: 'FROZEN' },
  unfreeze: { from: 'FROZEN', to: 'ACTIVE' },
} as const satisfies Record<string, Record<'from' | 'to', WorkspaceStatus>>

/** Closes a workspace to its members, or opens it again; the gate asks for its status on every call. */
export const changeWorkspace = (
  { database, members }: { database: Database; members: Pick<Members, 'demandOutsider'> },
  act: Act,
  id: WorkspaceId,
  step: keyof typeof steps,
  reason: string,
): Promise<WorkspaceRow> =>
  inTransaction(database, async (tx) => {
    const workspace = await lockWorkspace(tx, id)
    if (!workspace) throw notFound('no such workspace')
    if (step === 'unfreeze') await members.demandOutsider(tx, act.accountId, id)
    const { from, to } = steps[step]
    if (workspace.status !== from)
      throw new Refusal('STATE.CONFLICT', { internal: `it is ${workspace.status}, not ${from}` })
    const changed = await setWorkspaceStatus(tx, id, to, act.at)
    await recordAct(tx, act, { workspaceId: id, targetId: id, detail: { reason } })
    return changed
  })
