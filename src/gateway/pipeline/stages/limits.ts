import { type Configuration, type LimitRule, limitsOf, type PortalLimits } from '../../../config/index.ts'
import {
  type Caller,
  chains,
  type MaybePromise,
  type Portal,
  portalOfChain,
  type RateGroup,
  rateLimited,
  thenSync,
} from '../../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'
import type { ClientFacts, ResolveClient } from '../client-address.ts'
import type { LimitPort, SpendResult } from '../ports.ts'

type Settings = Pick<Configuration, 'limits' | 'portals'>

/** A request that spends limits. `limit` is the tightest one, for the RateLimit headers. */
type LimitedRequest = Pick<Call, 'limit'>

/** Records the tightest limit of the request. Throws ACCESS.RATE_LIMITED when it is used up. */
const assertAllowed = (
  request: LimitedRequest,
  name: string,
  rule: LimitRule,
  { allowed, limit, remaining, resetMs }: SpendResult,
): void => {
  // Always report the limit that rejects the request, because the caller has to wait for it.
  if (!allowed || request.limit === null || remaining < request.limit.remaining)
    request.limit = { name, windowMs: rule.windowMs, limit, remaining, resetMs }
  if (!allowed) throw rateLimited(resetMs, `limit ${name}`)
}

const spend = (
  limits: LimitPort,
  request: LimitedRequest,
  name: string,
  key: string,
  rule: LimitRule,
): MaybePromise<void> => thenSync(limits.spend(name, key, rule), (result) => assertAllowed(request, name, rule, result))

/** Returns the limits of each portal. While the portal is unknown, the limits are those that both portals share. */
const limitsByPortal = (settings: Settings): ((portal: Portal | null) => PortalLimits) => {
  const common = limitsOf(settings, null)
  const byPortal = { CONSUMER: limitsOf(settings, 'CONSUMER'), SYSTEM: limitsOf(settings, 'SYSTEM') }
  return (portal) => (portal === null ? common : byPortal[portal])
}

/**
 * Spends the limit of a client's address for all operations. Portals without a configured address limit share one.
 * Throws ACCESS.RATE_LIMITED.
 */
export type SpendAddress = (request: Pick<Call, 'clientIp' | 'limit'>, portal: Portal | null) => MaybePromise<void>

export function createAddressSpender(limits: LimitPort, settings: Settings): SpendAddress {
  const limitsAt = limitsByPortal(settings)
  return (request, portal) => {
    const { address, isAddressOwn } = limitsAt(portal)
    const key = limits.addressKey(request.clientIp, settings.limits.ipv6Prefix)
    return spend(limits, request, 'address', isAddressOwn ? `${portal}:${key}` : key, address)
  }
}

/**
 * Counts a call towards the limits of the client's address: first for all operations, then for the operation's group by
 * address, network and in total. Narrow limits come first, so that the calls that they reject do not use up a shared
 * limit.
 */
export function addressLimitStage(limits: LimitPort, settings: Settings): Stage {
  const limitsAt = limitsByPortal(settings)
  const spendAddress = createAddressSpender(limits, settings)
  return (call) => {
    const group = call.operation.policy.rate
    const rules = limitsAt(call.portal).groups.get(group)
    const portalKey = `${call.portal}:${limits.addressKey(call.clientIp, settings.limits.ipv6Prefix)}`
    const spendGroup = (scope: 'address' | 'network' | 'total', spender: string): MaybePromise<void> => {
      const rule = rules?.[scope]
      return rule ? spend(limits, call, `${group}-${scope}`, spender, rule) : undefined
    }
    const byAddress = thenSync(spendAddress(call, call.portal), () => spendGroup('address', portalKey))
    const byNetwork = thenSync(byAddress, () =>
      spendGroup('network', `${call.portal}:${limits.networkKey(call.clientIp)}`),
    )
    return thenSync(byNetwork, () => spendGroup('total', `${call.portal}`))
  }
}

/** A request that matched no operation: a 404, a 405 or a malformed path. */
export type UnmatchedRequest = ClientFacts & Pick<Call, 'chainId' | 'limit'>
export type LimitUnmatched = (request: UnmatchedRequest) => MaybePromise<void>

/** Returns the limit of requests that match no operation. They count like the operations of their chain. */
export function createUnmatchedLimit(resolveClient: ResolveClient, spendAddress: SpendAddress): LimitUnmatched {
  return (request) => {
    const portal = portalOfChain(chains[request.chainId])
    resolveClient(request, portal ?? 'CONSUMER')
    return spendAddress(request, portal)
  }
}

/** The account rules of these groups limit the mails to an account. A sent mail counts, not the call. */
const countedAsMails: ReadonlySet<RateGroup> = new Set(['mfaSend', 'forgot'])

/**
 * The API keys of an account are counted together and separately from their owner. Otherwise a leaked key could keep
 * the owner from revoking it.
 */
const spenderOf = ({ accountId, apiKeyId }: Caller): string => (apiKeyId === null ? accountId : `${accountId}:keys`)

/** Spends the caller's limit for the operation's group; groups without an account rule share the general one. */
export function callerLimitStage(limits: LimitPort, settings: Settings): Stage {
  const limitsAt = limitsByPortal(settings)
  return (call) => {
    if (!call.caller) return undefined
    const { groups } = limitsAt(call.caller.portal)
    const { rate } = call.operation.policy
    const group = groups.get(rate)?.account && !countedAsMails.has(rate) ? rate : 'general'
    const rule = groups.get(group)?.account
    return rule ? spend(limits, call, `${group}-account`, spenderOf(call.caller), rule) : undefined
  }
}
