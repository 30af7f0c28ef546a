import { headers } from '../../../contract/headers.ts'
import {
  areWithin,
  type Caller,
  type MaybePromise,
  type Portal,
  Refusal,
  thenSync,
  type WorkspaceAccess,
} from '../../../kernel/index.ts'
import type { AccessCache } from '../access-cache.ts'
import type { Call, Stage } from '../call.ts'
import type { ResolveClient } from '../client-address.ts'
import type { AuthenticationPort, Credential } from '../ports.ts'

/** Everything after the scheme is the token. A token with a suffix is another, invalid token. */
const bearerPattern = /^bearer +(.+)$/i

/** Returns the bearer token (RFC 6750, 2.1). Tokens in other places are not accepted. */
const readBearerToken = ({ headers }: Call): string => {
  if (headers.isRepeated('authorization')) throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'two tokens' })
  const token = bearerPattern.exec(headers.informative('authorization'))?.[1]
  if (token === undefined) throw new Refusal('ACCESS.TOKEN_MISSING')
  return token
}

const toCredential = (call: Call, resolveClient: ResolveClient): Credential => {
  const { portal, clientHash, clientIp } = call
  const credential: Credential = {
    token: readBearerToken(call),
    portal,
    clientHash,
    clientIp,
    // Another replica can have just verified the second factor. Reading the store avoids asking for it again.
    bypassCache: call.operation.policy.stepUp,
    receivedAt: call.caller ? call.receivedAt : undefined,
  }
  if (portal !== null) return credential
  const resolveClientIp = (tokenPortal: Portal): string => {
    resolveClient(call, tokenPortal)
    return call.clientIp
  }
  return { ...credential, resolveClientIp }
}

const setCaller = (call: Call, caller: Caller, workspace: WorkspaceAccess | null): void => {
  call.caller = caller
  call.portal = caller.portal
  call.workspace = workspace
}

/** Sets the caller: from an access token with a live session, or on the machine chain from an API key with its workspace. */
export function authenticateStage(authentication: AuthenticationPort, resolveClient: ResolveClient): Stage {
  return (call) => {
    if (call.operation.policy.caller === 'anonymous') return
    const credential = toCredential(call, resolveClient)
    const byKey = call.chain.perimeter === 'machine' ? authentication.apiKey(credential) : undefined
    if (byKey) return byKey.then(({ caller, workspace }) => setCaller(call, caller, workspace))
    return thenSync(authentication.accessToken(credential), (caller) => setCaller(call, caller, null))
  }
}

/** Throws if X-Workspace-Id names another workspace than that of the API key. */
const assertSameWorkspace = ({ workspace }: Call, requested: string | null): void => {
  if (requested !== null && requested !== workspace?.id)
    throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: 'the API key belongs to another workspace' })
}

/**
 * Sets the workspace and the caller's rights in it, by X-Workspace-Id or the account's default workspace. Throws
 * ACCESS.WORKSPACE_REQUIRED where the policy requires the header.
 */
export function workspaceStage(workspaces: Pick<AccessCache, 'enter'>): Stage {
  return (call) => {
    const { workspace: rule } = call.operation.policy
    if (rule === 'none' || call.caller === null) return
    // Clients can send a UUID in upper case (RFC 9562, section 4). Stored ids are in lower case.
    const requested = call.headers.optional(headers.workspaceId.field)?.toLowerCase() ?? null
    if (call.workspace) return assertSameWorkspace(call, requested)
    if (requested === null && rule === 'required' && call.chain.perimeter === 'portal')
      throw new Refusal('ACCESS.WORKSPACE_REQUIRED')
    return thenSync(workspaces.enter(call.caller, requested), (access) => {
      call.workspace = access
    })
  }
}

const assertPermission = ({ operation: { policy }, workspace, caller }: Call): void => {
  if (policy.permission === null) return
  const rights = policy.workspace === 'none' ? caller?.permissions : workspace?.permissions
  if (!rights?.has(policy.permission))
    throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: `lacks ${policy.permission}` })
}

const assertSteppedUp = ({ operation: { policy }, caller, receivedAt }: Call, stepUpMs: number): void => {
  if (!policy.stepUp) return
  const at = caller?.steppedUpAt ?? null
  if (at === null || !areWithin(stepUpMs, at, receivedAt)) throw new Refusal('ACCESS.STEP_UP_REQUIRED')
}

/**
 * Requires the permission of the operation, in the workspace or as an operator. If the policy says so, also requires a
 * second factor that was verified at most `stepUpMs` ago.
 */
export function permissionStage({ stepUpMs }: { stepUpMs: number }): Stage {
  return (call) => {
    assertPermission(call)
    assertSteppedUp(call, stepUpMs)
  }
}

/** Called before the body is read; the returned function is called after its last byte. */
export type Reauthorize = (call: Call) => () => MaybePromise<void>

/** No reauthorization in a domain service: the gateway in front of it has already done it. */
export const skipReauthorization: Reauthorize = () => () => undefined

/**
 * Runs the access control stages again for a call whose body took longer than `afterMs`. Otherwise a client could delay
 * the last byte and use a session or rights that have ended in the meantime.
 */
export function reauthorizeAfter(stages: readonly Stage[], afterMs: number): Reauthorize {
  return (call) => {
    const start = performance.now()
    const runAgain = async (): Promise<void> => {
      for (const stage of stages) await stage(call)
    }
    return () => (performance.now() - start < afterMs ? undefined : runAgain())
  }
}
