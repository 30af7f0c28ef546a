import {
  type Configuration,
  limitsOf,
  type PortalLimits,
  portalNames,
  settingsOfPortal,
} from '../../../config/index.ts'
import {
  type Caller,
  type Chain,
  type MaybePromise,
  type Portal,
  portalOfChain,
  type RateGroup,
  rateLimited,
  thenSync,
} from '../../../kernel/index.ts'
import { Call, type Stage } from '../call.ts'
import type { ClientFacts, ResolveClient } from '../client-address.ts'
import type { LimitPort, Spend, SpendResult } from '../ports.ts'

type Settings = Pick<Configuration, 'limits' | 'portals'>

/**
 * The handler counts these totals, once it knows that a request is genuine. Otherwise, invalid requests from many
 * networks would use up the limit of everybody.
 */
const totalsOfHandlers: ReadonlySet<RateGroup> = new Set(['channelOpen'])

/** The account rules of these groups count sent emails, not calls. */
const countedAsMails: ReadonlySet<RateGroup> = new Set(['mfaSend', 'forgot'])

/**
 * Precedes authentication: refuses an address that has used up its limit, as far as this process knows, without I/O.
 * Throws ACCESS.RATE_LIMITED.
 */
export function addressGuardStage(limits: LimitPort, settings: Settings): Stage {
  const addressOf = addressSpends(limits, settings)
  return (call) => {
    const spend = addressOf(call, limitPortalOf(call))
    const result = limits.admit(spend)
    if (result.allowed) return
    call.isCounted = true
    assertAllowed(call, spend, result)
  }
}

/**
 * Spends the limits of the address and of the caller, in one round trip. Narrow limits are first, so that calls they
 * reject do not count towards a shared limit. Throws ACCESS.RATE_LIMITED.
 */
export function limitsStage(limits: LimitPort, settings: Settings): Stage {
  const ofAddress = groupSpends(limits, settings)
  const ofCaller = callerSpends(settings)
  return (call) => {
    call.isCounted = true
    return spendAll(limits, call, ofAddress(call).concat(ofCaller(call)))
  }
}

/** A request with a 404, a 405 or a malformed path, or for a page. */
export type UnmatchedRequest = ClientFacts & Pick<Call, 'chain' | 'chainId' | 'limit'>

/** Counts a request that the stage `limits` has not counted. Throws ACCESS.RATE_LIMITED. */
export type LimitUncounted = (request: UnmatchedRequest | Call) => MaybePromise<void>

/** A call that an earlier stage refuses spends what it would have spent, except the limit of its caller. */
export function createUncountedLimit(
  limits: LimitPort,
  settings: Settings,
  resolveClient: ResolveClient,
): LimitUncounted {
  const addressOf = addressSpends(limits, settings)
  const ofAddress = groupSpends(limits, settings)
  const withOwnLimit = () =>
    portalNames(settings.portals).filter(
      (portal) => settingsOfPortal(settings.portals, portal).limits?.address !== undefined,
    )
  /**
   * A wrong code counts towards every address limit that a valid code could count towards. Otherwise, a client that
   * exceeds only some of them could recognize a valid code.
   */
  const possiblePortals = (chain: Chain): (Portal | null)[] =>
    chain.portal === 'code' ? [...withOwnLimit(), null] : [portalOfChain(chain)]
  const spendAddress = (request: UnmatchedRequest, portal: Portal | null): MaybePromise<void> => {
    resolveClient(request, portal ?? 'CONSUMER')
    const spend = addressOf(request, portal)
    const admitted = limits.admit(spend)
    return admitted.allowed ? spendAll(limits, request, [spend]) : assertAllowed(request, spend, admitted)
  }
  return async (request) => {
    if (request instanceof Call && hasPassedAccessCode(request)) return spendAll(limits, request, ofAddress(request))
    let refusal: unknown
    for (const portal of possiblePortals(request.chain)) {
      try {
        await spendAddress(request, portal)
      } catch (error) {
        refusal = error
      }
    }
    if (refusal !== undefined) throw refusal
  }
}

/** A page with 40 files makes at least four requests of operations. */
const filesPerRequest = 10

/**
 * Files of a site have their own count, so that page loads do not use up the limit of operations. They come from memory,
 * so each process counts without I/O. Throws ACCESS.RATE_LIMITED.
 */
export function createSiteLimit(
  limits: LimitPort,
  settings: Settings,
  resolveClient: ResolveClient,
): (portal: Portal) => LimitUncounted {
  const limitsAt = limitsByPortal(settings)
  return (portal) => (request) => {
    resolveClient(request, portal)
    const { limit, windowMs } = limitsAt(portal).address
    const key = `${portal}:${limits.addressKey(request.clientIp)}`
    const spend = { name: 'site-address', key, rule: { limit: limit * filesPerRequest, windowMs } }
    assertAllowed(request, spend, limits.admit(spend))
  }
}

/**
 * The API keys of a member share a separate counter, and those of operators have one each. Otherwise a leaked key could
 * use up the limit and prevent its own revocation.
 */
export function spenderOf({ accountId, portal, apiKeyId }: Pick<Caller, 'accountId' | 'portal' | 'apiKeyId'>): string {
  if (apiKeyId === null) return accountId
  return portal === 'SYSTEM' ? `${accountId}:${apiKeyId}` : `${accountId}:keys`
}

/** Groups without an account rule share the general limit. */
function callerSpends(settings: Settings): (call: Call) => Spend[] {
  const limitsAt = limitsByPortal(settings)
  return ({ caller, operation: { policy } }) => {
    if (!caller) return []
    const { groups } = limitsAt(caller.portal)
    const group = groups.get(policy.rate)?.account && !countedAsMails.has(policy.rate) ? policy.rate : 'general'
    const rule = groups.get(group)?.account
    return rule ? [{ name: `${group}-account`, key: spenderOf(caller), rule }] : []
  }
}

/** The limits of the address, and those of the rate group that do not depend on the caller. */
function groupSpends(limits: LimitPort, settings: Settings): (call: Call) => Spend[] {
  const limitsAt = limitsByPortal(settings)
  const addressOf = addressSpends(limits, settings)
  return (call) => {
    const [portal, group] = [limitPortalOf(call), call.operation.policy.rate]
    const rules = limitsAt(portal).groups.get(group)
    const spends = [addressOf(call, portal)]
    if (!rules) return spends
    const add = (scope: 'address' | 'network' | 'total', key: string): void => {
      const rule = rules[scope]
      if (rule) spends.push({ name: `${group}-${scope}`, key, rule })
    }
    if (rules.address) add('address', `${portal}:${limits.addressKey(call.clientIp)}`)
    if (rules.network) add('network', `${portal}:${limits.networkKey(call.clientIp)}`)
    if (!totalsOfHandlers.has(group)) add('total', `${portal}`)
    return spends
  }
}

/** Portals without a configured address limit share one. */
function addressSpends(
  limits: LimitPort,
  settings: Settings,
): (request: Pick<Call, 'clientIp'>, portal: Portal | null) => Spend {
  const limitsAt = limitsByPortal(settings)
  return ({ clientIp }, portal) => {
    const { address, isAddressOwn } = limitsAt(portal)
    const key = limits.addressKey(clientIp)
    return { name: 'address', key: isAddressOwn ? `${portal}:${key}` : key, rule: address }
  }
}

/** Null if only a valid token reveals the portal, so that refused and accepted calls share a counter. */
function limitPortalOf({ chain, portal }: Call): Portal | null {
  return chain.portal === 'token' ? null : portal
}

function hasPassedAccessCode({ chain, portal }: Call): boolean {
  return chain.perimeter !== 'portal' || portal !== null
}

/** While the portal is unknown, only the limits that all portals share apply. */
function limitsByPortal(settings: Settings): (portal: Portal | null) => PortalLimits {
  const read = () => ({
    limits: settings.limits,
    common: limitsOf(settings, null),
    byPortal: Object.fromEntries(
      portalNames(settings.portals).map((portal) => [portal, limitsOf(settings, portal)] as const),
    ),
  })
  let known = read()
  return (portal) => {
    // A reload replaces the limits.
    if (known.limits !== settings.limits) known = read()
    return portal === null ? known.common : settingsOfPortal(known.byPortal, portal)
  }
}

type LimitedRequest = Pick<Call, 'limit'>

function spendAll(limits: LimitPort, request: LimitedRequest, spends: readonly Spend[]): MaybePromise<void> {
  return thenSync(limits.spendAll(spends), (results) => {
    results.forEach((result, index) => {
      const spend = spends[index]
      if (spend) assertAllowed(request, spend, result)
    })
  })
}

function assertAllowed(
  request: LimitedRequest,
  { name, rule: { windowMs } }: Spend,
  { allowed, limit, remaining, resetMs }: SpendResult,
): void {
  // Always report the limit that rejects the request, because the caller has to wait for it.
  if (!allowed || request.limit === null || remaining < request.limit.remaining)
    request.limit = { name, windowMs, limit, remaining, resetMs }
  if (!allowed) throw rateLimited(resetMs, `limit ${name}`)
}
