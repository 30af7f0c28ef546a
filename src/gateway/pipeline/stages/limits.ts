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
import type { LimitPort, Spend, SpendResult } from '../ports.ts'
import type { IsCached } from './access-control.ts'

type Settings = Pick<Configuration, 'limits' | 'portals'>

/** Portals without a configured address limit share one. Throws ACCESS.RATE_LIMITED. */
export type SpendAddress = (request: Pick<Call, 'clientIp' | 'limit'>, portal: Portal | null) => MaybePromise<void>

export function createAddressSpender(limits: LimitPort, settings: Settings): SpendAddress {
  const addressOf = addressSpends(limits, settings)
  return (request, portal) => spendAll(limits, request, [addressOf(request, portal)])
}

/**
 * The handler counts these totals, once it knows that a request is genuine. Otherwise, invalid requests from many
 * networks would use up the limit of everybody.
 */
const totalsOfHandlers: ReadonlySet<RateGroup> = new Set(['channelOpen'])

/**
 * Narrow limits are checked first, so that calls they reject do not count towards a shared limit.
 *
 * If the following stages need no I/O, callerLimit spends these limits together with its own, in one round trip.
 */
export function addressLimitStage(limits: LimitPort, settings: Settings, isCached: IsCached): Stage {
  const limitsAt = limitsByPortal(settings)
  const addressOf = addressSpends(limits, settings)
  const spendsOf = (call: Call): Spend[] => {
    const group = call.operation.policy.rate
    const rules = limitsAt(call.portal).groups.get(group)
    const spends = [addressOf(call, call.portal)]
    const add = (scope: 'address' | 'network' | 'total', key: string): void => {
      const rule = rules?.[scope]
      if (rule) spends.push({ name: `${group}-${scope}`, key, rule })
    }
    if (rules?.address) add('address', `${call.portal}:${limits.addressKey(call.clientIp)}`)
    if (rules?.network) add('network', `${call.portal}:${limits.networkKey(call.clientIp)}`)
    if (!totalsOfHandlers.has(group)) add('total', `${call.portal}`)
    return spends
  }
  return (call) => {
    const spends = spendsOf(call)
    if (!limits.sharesRoundTrip || !isCached(call)) return spendAll(limits, call, spends)
    call.postponedLimits = { spends, stageIndex: call.stageIndex, spend: () => spendAll(limits, call, spends) }
    return undefined
  }
}

/** A request with a 404, a 405 or a malformed path. */
export type UnmatchedRequest = ClientFacts & Pick<Call, 'chainId' | 'limit'>
export type LimitUnmatched = (request: UnmatchedRequest) => MaybePromise<void>

/** These requests share the address limit of the operations of their chain. */
export function createUnmatchedLimit(resolveClient: ResolveClient, spendAddress: SpendAddress): LimitUnmatched {
  return (request) => {
    const portal = portalOfChain(chains[request.chainId])
    resolveClient(request, portal ?? 'CONSUMER')
    return spendAddress(request, portal)
  }
}

/** The account rules of these groups count sent emails, not calls. */
const countedAsMails: ReadonlySet<RateGroup> = new Set(['mfaSend', 'forgot'])

/**
 * The API keys of an account share a separate counter. Otherwise a leaked key could use up the limit and prevent its
 * own revocation.
 */
export function spenderOf({ accountId, apiKeyId }: Caller): string {
  return apiKeyId === null ? accountId : `${accountId}:keys`
}

/** Groups without an account rule share the general limit. */
export function callerLimitStage(limits: LimitPort, settings: Settings): Stage {
  const limitsAt = limitsByPortal(settings)
  const spendOf = (caller: Caller, rate: RateGroup): Spend | undefined => {
    const { groups } = limitsAt(caller.portal)
    const group = groups.get(rate)?.account && !countedAsMails.has(rate) ? rate : 'general'
    const rule = groups.get(group)?.account
    return rule && { name: `${group}-account`, key: spenderOf(caller), rule }
  }
  return (call) => {
    const { postponedLimits } = call
    call.postponedLimits = null
    const own = call.caller && spendOf(call.caller, call.operation.policy.rate)
    if (!postponedLimits) return own ? spendAll(limits, call, [own]) : undefined
    if (!own) return postponedLimits.spend()
    const { spends, stageIndex } = postponedLimits
    return spendAll(limits, call, [...spends, own], (index) => {
      if (index < spends.length) call.stageIndex = stageIndex
    })
  }
}

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

/** While the portal is unknown, only the limits that both portals share apply. */
function limitsByPortal(settings: Settings): (portal: Portal | null) => PortalLimits {
  const common = limitsOf(settings, null)
  const byPortal = { CONSUMER: limitsOf(settings, 'CONSUMER'), SYSTEM: limitsOf(settings, 'SYSTEM') }
  return (portal) => (portal === null ? common : byPortal[portal])
}

type LimitedRequest = Pick<Call, 'limit'>

function spendAll(
  limits: LimitPort,
  request: LimitedRequest,
  spends: readonly Spend[],
  beforeRefusal: (index: number) => void = () => undefined,
): MaybePromise<void> {
  return thenSync(limits.spendAll(spends), (results) => {
    for (const [index, result] of results.entries()) {
      const spend = spends[index]
      if (!result.allowed) beforeRefusal(index)
      if (spend) assertAllowed(request, spend.name, spend.rule, result)
    }
  })
}

function assertAllowed(
  request: LimitedRequest,
  name: string,
  rule: LimitRule,
  { allowed, limit, remaining, resetMs }: SpendResult,
): void {
  // Always report the limit that rejects the request, because the caller has to wait for it.
  if (!allowed || request.limit === null || remaining < request.limit.remaining)
    request.limit = { name, windowMs: rule.windowMs, limit, remaining, resetMs }
  if (!allowed) throw rateLimited(resetMs, `limit ${name}`)
}
