import { headers } from '../../../contract/headers.ts'
import { Refusal, thenSync } from '../../../kernel/index.ts'
import type { AccessCache } from '../access-cache.ts'
import type { Call, Stage } from '../call.ts'

/** An API key has one workspace; X-Workspace-Id may only repeat it. */
const assertSameWorkspace = ({ workspace }: Call, named: string | null): void => {
  if (named !== null && named !== workspace?.id)
    throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: 'the API key belongs to another workspace' })
}

/**
 * Sets the workspace and the caller's rights in it, by X-Workspace-Id or the account's default workspace. Throws
 * ACCESS.WORKSPACE_REQUIRED where the policy requires the header.
 */
export const workspaceStage =
  (workspaces: Pick<AccessCache, 'enter'>): Stage =>
  (call) => {
    const { workspace: rule } = call.operation.policy
    if (rule === 'none' || call.caller === null) return
    // Clients may send a UUID in upper case (RFC 9562, section 4); ours are lower case.
    const named = call.headers.optional(headers.workspaceId.field)?.toLowerCase() ?? null
    if (call.workspace) return assertSameWorkspace(call, named)
    if (named === null && rule === 'required' && call.chain.perimeter === 'portal')
      throw new Refusal('ACCESS.WORKSPACE_REQUIRED')
    return thenSync(workspaces.enter(call.caller, named), (access) => {
      call.workspace = access
    })
  }
