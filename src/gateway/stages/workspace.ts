import { Refusal, thenSync, type WorkspaceAccess } from '../../kernel/index.ts'
import type { AccessMemory } from '../access-memory.ts'
import type { Stage } from '../call.ts'

/** X-Workspace-Id by the operation's workspace rule: unused, else the account's default, or demanded. */
export const workspace =
  (workspaces: Pick<AccessMemory, 'enter'>): Stage =>
  (call) => {
    const { workspace: rule } = call.operation.policy
    if (rule === 'none' || call.caller === null) return
    // A UUID may come in capitals (RFC 9562, section 4); ours are in small letters everywhere.
    const named = call.headers.optional('x-workspace-id')?.toLowerCase() ?? null
    if (call.workspace) {
      if (named !== null && named !== call.workspace.id)
        throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: 'the API key belongs to another workspace' })
      return
    }
    if (named === null && rule === 'required' && call.chain.perimeter === 'portal')
      throw new Refusal('ACCESS.WORKSPACE_REQUIRED')
    const enter = (access: WorkspaceAccess): void => {
      call.workspace = access
    }
    return thenSync(workspaces.enter(call.caller, named), enter)
  }
