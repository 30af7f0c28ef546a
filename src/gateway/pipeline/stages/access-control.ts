import type { Configuration } from '../../../config/index.ts'
import { headers } from '../../../contract/headers.ts'
import { securesAccount } from '../../../contract/policies.ts'
import {
  type AccountId,
  assertSteppedUp,
  type Caller,
  type Durations,
  type Instant,
  type MaybePromise,
  needsApiKey,
  type Operation,
  type Permission,
  type Portal,
  passkeyRequired,
  Refusal,
  thenSync,
  type WorkspaceAccess,
  type WorkspaceId,
} from '../../../kernel/index.ts'
import type { AccessCache } from '../access-cache.ts'
import type { Call, Stage } from '../call.ts'
import type { ResolveClient } from '../client-address.ts'
import type { ReadClientCertificate } from '../client-certificate.ts'
import type { AllowedOrigins } from '../origins.ts'
import type { AuthenticationPort, Credential, Ticket } from '../ports.ts'
import type { SessionCookie, SessionCookies } from '../session-cookie.ts'
import { pathOf } from '../tickets.ts'
import type { AssertOffered } from './access-code.ts'

/** RFC 6750, section 2.1, and RFC 9449, section 7.1. */
const tokenPattern = /^(bearer|dpop) +(.+)$/i

/** Where authentication reads the session. Policies that require a step-up always read the store. */
type SessionSource = 'cache' | 'store'

export interface AuthenticationParts {
  authentication: AuthenticationPort
  cookies: Pick<SessionCookies, 'read'>
  origins: Pick<AllowedOrigins, 'assertOwnPage'>
  resolveClient: ResolveClient
  /** See `publicUrlsOf`. */
  baseUrlsOf(portal: Portal | null): readonly string[]
  readCertificate: ReadClientCertificate
  assertOffered: AssertOffered
}

export function authenticateStage(parts: AuthenticationParts, source: SessionSource = 'cache'): Stage {
  const { authentication, cookies } = parts
  return (call) => {
    const { policy, describesCaller, startsBrowserSession } = call.operation
    if (startsBrowserSession) return identifyPrevious(parts, call, source)
    if (policy.caller === 'anonymous' && !describesCaller) return
    const cookie = call.chain.perimeter === 'machine' ? undefined : cookies.read(call)
    if (cookie) {
      const authenticate = () => authenticateCookie(parts, call, cookie, source)
      return policy.caller === 'anonymous' ? orNobody(authenticate) : authenticate()
    }
    if (policy.caller === 'anonymous') return
    const { token, dpopProof } = readToken(call)
    const credential = toCredential(parts, call, token, source)
    if (dpopProof !== undefined) credential.dpopProof = dpopProof
    // An API key has no access token, to which a DPoP proof could belong.
    const acceptsKeys = call.chain.perimeter === 'machine' && dpopProof === undefined
    const byKey = acceptsKeys ? authentication.apiKey(credential) : undefined
    if (byKey) return byKey.then(({ caller, workspace }) => setCaller(parts, call, caller, workspace))
    if (needsApiKey(call.chain)) throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'not an API key' })
    return thenSync(authentication.accessToken(credential), (caller) => setCaller(parts, call, caller, null))
  }
}

/**
 * Throws ACCESS.WORKSPACE_REQUIRED if the policy requires X-Workspace-Id. Otherwise the account's default workspace
 * applies.
 */
export function workspaceStage(workspaces: Pick<AccessCache, 'enter' | 'stay' | 'identify'>): Stage {
  return (call) => {
    const { policy, withoutEntry, describesCaller } = call.operation
    const { workspace: rule } = policy
    if (rule === 'none' || call.caller === null) return
    const requested = requestedWorkspace(call)
    // The default workspace of the account may have changed, but a stream stays in its own.
    const current = call.isStreamOpen && call.caller.apiKeyId === null ? call.workspace : null
    if (call.workspace && !current) return assertSameWorkspace(call, requested)
    if (requested === null && describesCaller) return
    if (requested === null && rule === 'required' && call.chain.perimeter === 'portal')
      throw new Refusal('ACCESS.WORKSPACE_REQUIRED')
    const { caller } = call
    const enter = () => (current ? workspaces.stay(caller, current.id) : workspaces.enter(caller, requested))
    const found = withoutEntry && requested !== null ? workspaces.identify(caller, requested) : enter()
    return thenSync(found, (access) => {
      call.workspace = access
    })
  }
}

export function permissionStage({ stepUpMs, binding }: Pick<Configuration['mfa'], 'stepUpMs' | 'binding'>): Stage {
  return (call) => {
    assertPermission(call)
    if (binding === 'session' && call.operation.policy.stepUp === true)
      assertSteppedUp(call.caller, call.receivedAt, stepUpMs)
  }
}

export type AssertNotHeld = (
  member: { accountId: AccountId; workspaceId: WorkspaceId },
  permission: Permission,
  at: Instant,
) => Promise<void>

/**
 * For payouts of domains other than Portico's, whose handlers know which of their payouts stay in a workspace. Throws
 * ACCESS.PAYOUT_HOLD.
 */
export function payoutHoldStage(isHeld: (operation: Operation) => boolean, assertNotHeld: AssertNotHeld): Stage {
  return ({ operation, caller, workspace, receivedAt }) => {
    const { permission } = operation.policy
    if (!caller || !workspace || permission === null || !isHeld(operation)) return undefined
    return assertNotHeld({ accountId: caller.accountId, workspaceId: workspace.id }, permission, receivedAt)
  }
}

/** Called before the body is read. The returned function is called after its last byte. */
export type Reauthorize = (call: Call) => () => MaybePromise<void>

/** The gateway in front of a domain service has already checked the caller again. */
export const skipReauthorization: Reauthorize = () => () => undefined

/** A client could delay the last byte and use a session or rights that have since ended. */
export function reauthorizeAfter(stages: readonly Stage[], afterMs: number, durations: Durations): Reauthorize {
  return (call) => {
    const start = durations.now()
    const runAgain = async (): Promise<void> => {
      for (const stage of stages) await stage(call)
    }
    return () => (durations.now() - start < afterMs ? undefined : runAgain())
  }
}

/** Rejects once the caller has lost its session or its rights. */
export type CheckCaller = (call: Call) => Promise<void>

/** The gateway in front of a domain service checks the callers of open streams. */
export const skipCheck: CheckCaller = async () => undefined

/** A failed check leaves the caller, for the request log. */
export function checkCallerBy(stages: readonly Stage[]): CheckCaller {
  return async (call) => {
    const { caller, workspace } = call
    call.isStreamOpen = true
    try {
      for (const stage of stages) await stage(call)
    } catch (error) {
      call.caller = caller
      call.workspace = workspace
      throw error
    }
  }
}

function authenticateCookie(
  parts: AuthenticationParts,
  call: Call,
  { portal, value }: SessionCookie,
  source: SessionSource,
): MaybePromise<void> {
  const { authentication, origins } = parts
  if (call.portal === null) parts.resolveClient(call, portal)
  call.portal = portal
  call.hasSessionCookie = true
  origins.assertOwnPage(call)
  const { operation, requestId, ticket } = call
  const credential = toCredential(parts, call, value, source)
  const request = { portal, operationId: operation.id, requestId }
  // A page that reconnects would prolong its session forever.
  const byTicket = { clientHash: null, isPassive: true } as const
  const caller = authentication.sessionCookie({ ...credential, ...request, ...(ticket && byTicket) })
  return thenSync(caller, (found) =>
    thenSync(ticket && !ticket.spent ? spendTicket(authentication, call, ticket, found) : undefined, () =>
      setCaller(parts, call, found, null),
    ),
  )
}

/** Once per request: repeated checks only compare the session. */
async function spendTicket(
  authentication: AuthenticationPort,
  call: Call,
  ticket: Ticket,
  caller: Caller,
): Promise<void> {
  const { value } = ticket
  ticket.spent = await authentication.ticket({ caller, value, operationId: call.operation.id, path: pathOf(call) })
  call.locale = ticket.spent.locale
}

/** The session that a sign-in replaces is the caller, if any. Nothing that is wrong with its cookie prevents the sign-in. */
async function identifyPrevious(parts: AuthenticationParts, call: Call, source: SessionSource): Promise<void> {
  parts.origins.assertOwnPage(call)
  try {
    const cookie = parts.cookies.read(call)
    if (cookie) await authenticateCookie(parts, call, cookie, source)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
  }
}

/** Leaves the caller null if the session has ended. */
async function orNobody(authenticate: () => MaybePromise<void>): Promise<void> {
  try {
    await authenticate()
  } catch (error) {
    if (!(error instanceof Refusal && error.code === 'ACCESS.TOKEN_INVALID')) throw error
  }
}

/** Clients can send a UUID in upper case (RFC 9562, section 4). Stored ids are in lower case. */
function requestedWorkspace({ headers: received, ticket }: Call): string | null {
  if (ticket) return ticket.spent?.workspaceId ?? null
  return received.optional(headers.workspaceId.field)?.toLowerCase() ?? null
}

function toCredential(parts: AuthenticationParts, call: Call, token: string, source: SessionSource): Credential {
  const { portal, clientHash, clientIp } = call
  const { describesCaller, startsBrowserSession, isPassive } = call.operation
  const { resolveClient, baseUrlsOf, readCertificate } = parts
  const credential: Credential = {
    token,
    facts: {
      method: call.method,
      receivedAt: call.receivedAt,
      isRepeated: call.caller !== null,
      baseUrls: baseUrlsOf(portal),
      path: call.path,
      certificateThumbprint: () => (portal === null ? null : readCertificate(call, portal)),
    },
    portal,
    clientHash,
    clientIp,
    // Another replica can have just verified the second factor.
    bypassCache: (call.operation.policy.stepUp === true || source === 'store') && !call.isStreamOpen,
    isStreamOpen: call.isStreamOpen || undefined,
    isPassive: describesCaller ?? startsBrowserSession ?? isPassive,
    receivedAt: call.caller ? call.receivedAt : undefined,
  }
  if (portal !== null) return credential
  const resolveClientIp = (tokenPortal: Portal): string => {
    resolveClient(call, tokenPortal)
    return call.clientIp
  }
  return { ...credential, resolveClientIp }
}

/** Tokens in other places are not accepted. A bearer token has no proof. */
function readToken({ headers: received }: Call): { token: string; dpopProof?: string } {
  if (received.isRepeated('authorization')) throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'two tokens' })
  const [, scheme, token] = tokenPattern.exec(received.informative('authorization')) ?? []
  if (token === undefined) throw new Refusal('ACCESS.TOKEN_MISSING')
  return scheme?.toLowerCase() === 'dpop'
    ? { token, dpopProof: received.optional(headers.dpop.field) ?? '' }
    : { token }
}

/** A step-up that was spent for this call remains, however often the caller is checked. */
function setCaller(
  { assertOffered }: Pick<AuthenticationParts, 'assertOffered'>,
  call: Call,
  caller: Caller,
  workspace: WorkspaceAccess | null,
): void {
  assertOffered(caller.portal, call)
  call.caller = call.steppedUpAt === null ? caller : { ...caller, steppedUpAt: call.steppedUpAt }
  call.portal = caller.portal
  if (!call.isStreamOpen || workspace) call.workspace = workspace
}

function assertSameWorkspace({ workspace }: Call, requested: string | null): void {
  if (requested !== null && requested !== workspace?.id)
    throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: 'the API key belongs to another workspace' })
}

function assertPermission({ operation, workspace, caller }: Call): void {
  const { policy } = operation
  if (policy.permission === null) {
    if (caller?.withheldByWorkspaces === 'all' && !securesAccount(operation))
      throw passkeyRequired(`${operation.id} needs a sign-in with a passkey`)
    return
  }
  const isOfAccount = policy.workspace === 'none'
  if ((isOfAccount ? caller : workspace)?.permissions.has(policy.permission)) return
  if ((isOfAccount ? caller?.withheld : workspace?.withPasskey?.permissions)?.has(policy.permission))
    throw passkeyRequired(`${policy.permission} needs a sign-in with a passkey`)
  throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: `lacks ${policy.permission}` })
}
