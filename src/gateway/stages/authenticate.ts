import { type Caller, type Portal, Refusal, thenSync, type WorkspaceAccess } from '../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'
import type { EdgeView } from '../edge-view.ts'
import type { AuthenticationPort, Credential } from '../ports.ts'

/** Whatever follows the scheme is the token: what a good one is followed by makes it another one. */
const credentials = /^bearer +(.+)$/i

/** The bearer token of RFC 6750 section 2.1, the only place where a token is looked for. */
const bearer = (call: Call): string => {
  if (call.headers.isRepeated('authorization')) throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'two tokens' })
  const token = credentials.exec(call.headers.informative('authorization'))?.[1]
  if (token === undefined) throw new Refusal('ACCESS.TOKEN_MISSING')
  return token
}

const admit = (call: Call, caller: Caller, workspace: WorkspaceAccess | null): void => {
  call.caller = caller
  call.portal = caller.portal
  call.workspace = workspace
}

/** The client's address as the edge of the token's portal tells it; it is the call's from then on. */
const addressBy =
  (call: Call, lookAt: EdgeView) =>
  (portal: Portal): string => {
    lookAt(call, portal)
    return call.clientIp
  }

/** Who calls: an access token with its live session, or on the second chain an API key, which implies its workspace. */
export const authenticate =
  (authentication: AuthenticationPort, lookAt: EdgeView): Stage =>
  (call) => {
    const { policy } = call.operation
    if (policy.caller === 'anonymous') return
    const { portal, clientHash, clientIp } = call
    // A second factor that another replica has just seen is not asked for again.
    const cameAt = call.caller ? call.receivedAt : undefined
    const known = { token: bearer(call), portal, clientHash, clientIp, anew: policy.stepUp, cameAt }
    const credential: Credential = portal === null ? { ...known, clientIpAt: addressBy(call, lookAt) } : known
    const byKey = call.chain.perimeter === 'machine' ? authentication.apiKey(credential) : undefined
    if (byKey) return byKey.then(({ caller, workspace }) => admit(call, caller, workspace))
    return thenSync(authentication.accessToken(credential), (caller) => admit(call, caller, null))
  }
