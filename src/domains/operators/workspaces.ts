import { notFound, type WorkspaceId } from '../../kernel/index.ts'
import { type Act, recordAct } from '../../platform/audit/index.ts'
import { type Database, inTransaction } from '../../platform/database/index.ts'
import { demandStatus, workspaceChanges } from './rules.ts'
import { lockWorkspace, setWorkspaceStatus, type WorkspaceRow } from './workspaces-store.ts'

/** Closes a workspace to its members, or opens it again; the gate asks for its status on every call. */
export const changeWorkspace = (
  database: Database,
  act: Act,
  id: WorkspaceId,
  step: keyof typeof workspaceChanges,
  reason: string,
): Promise<WorkspaceRow> =>
  inTransaction(database, async (tx) => {
    const workspace = await lockWorkspace(tx, id)
    if (!workspace) throw notFound('no such workspace')
    demandStatus(workspace.status, workspaceChanges[step])
    const changed = await setWorkspaceStatus(tx, id, workspaceChanges[step].to, act.at)
    await recordAct(tx, act, { workspaceId: id, targetId: id, detail: { reason } })
    return changed
  })
