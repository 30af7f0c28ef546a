import { type Caller, type Portal, Refusal, thenSync, type WorkspaceAccess } from '../../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'
import type { AuthenticationPort, Credential } from '../ports.ts'
import type { ResolveClient } from '../trusted-proxies.ts'

/** Everything after the scheme is the token: a suffix makes it a different, invalid one. */
const bearerPattern = /^bearer +(.+)$/i

/** Returns the bearer token (RFC 6750, 2.1). Tokens in other places are not accepted. */
const readBearerToken = ({ headers }: Call): string => {
  if (headers.isRepeated('authorization')) throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'two tokens' })
  const token = bearerPattern.exec(headers.informative('authorization'))?.[1]
  if (token === undefined) throw new Refusal('ACCESS.TOKEN_MISSING')
  return token
}

const setCaller = (call: Call, caller: Caller, workspace: WorkspaceAccess | null): void => {
  call.caller = caller
  call.portal = caller.portal
  call.workspace = workspace
}

const toCredential = (call: Call, resolveClient: ResolveClient): Credential => {
  const { portal, clientHash, clientIp } = call
  const credential: Credential = {
    token: readBearerToken(call),
    portal,
    clientHash,
    clientIp,
    // Another replica may have just verified the second factor; do not ask for it again.
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

/** Sets the caller: from an access token with a live session, or on the machine chain from an API key with its workspace. */
export const authenticateStage =
  (authentication: AuthenticationPort, resolveClient: ResolveClient): Stage =>
  (call) => {
    if (call.operation.policy.caller === 'anonymous') return
    const credential = toCredential(call, resolveClient)
    const byKey = call.chain.perimeter === 'machine' ? authentication.apiKey(credential) : undefined
    if (byKey) return byKey.then(({ caller, workspace }) => setCaller(call, caller, workspace))
    return thenSync(authentication.accessToken(credential), (caller) => setCaller(call, caller, null))
  }
