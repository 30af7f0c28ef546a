import { type Configuration, type LimitRule, limitsOf, type PortalLimits } from '../../config/index.ts'
import {
  type Caller,
  chains,
  type MaybePromise,
  type Portal,
  portalOfChain,
  type RateGroup,
  rateLimited,
  whenReady,
} from '../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'
import type { ClientFacts, EdgeView } from '../edge-view.ts'
import type { LimitPort, Spent } from '../ports.ts'

type Settings = Pick<Configuration, 'limits' | 'portals'>

/** A request that spends from limits: `limit` is the tightest one, for the RateLimit fields. */
type Spending = Pick<Call, 'limit'>

const judge = (call: Spending, name: string, rule: LimitRule, { allowed, limit, remaining, resetMs }: Spent): void => {
  // A limit that refuses is what the caller has to wait for, also where another one has nothing left either.
  if (!allowed || call.limit === null || remaining < call.limit.remaining)
    call.limit = { name, windowMs: rule.windowMs, limit, remaining, resetMs }
  if (allowed) return
  throw rateLimited(resetMs, `limit ${name}`)
}

const spend = (limits: LimitPort, call: Spending, name: string, key: string, rule: LimitRule): MaybePromise<void> =>
  whenReady(limits.spend(name, key, rule), (spent) => judge(call, name, rule, spent))

/** Each portal's limits; those of the configuration alone while a portal is not known yet. */
const byPortal = (settings: Settings): ((portal: Portal | null) => PortalLimits) => {
  const unknown = limitsOf(settings, null)
  const known = { CONSUMER: limitsOf(settings, 'CONSUMER'), SYSTEM: limitsOf(settings, 'SYSTEM') }
  return (portal) => (portal === null ? unknown : known[portal])
}

/**
 * Spends from the limit of a client's address over all operations, or refuses with ACCESS.RATE_LIMITED. Portals without an
 * address limit of their own share one.
 */
export type AddressSpender = (request: Pick<Call, 'clientIp' | 'limit'>, portal: Portal | null) => MaybePromise<void>

export const addressSpender = (limits: LimitPort, settings: Settings): AddressSpender => {
  const at = byPortal(settings)
  return (request, portal) => {
    const { address, isAddressOwn } = at(portal)
    const key = limits.addressKey(request.clientIp, settings.limits.ipv6Prefix)
    return spend(limits, request, 'address', isAddressOwn ? `${portal}:${key}` : key, address)
  }
}

/**
 * The limits of an address: of all its operations, and of the operation's group by address, network and all clients.
 * Narrow limits come first, so that what they refuse uses up no wider one that others share.
 */
export const addressLimit = (limits: LimitPort, settings: Settings): Stage => {
  const at = byPortal(settings)
  const spendAddress = addressSpender(limits, settings)
  return (call) => {
    const group = call.operation.policy.rate
    const rules = at(call.portal).groups.get(group)
    const spendGroup = (scope: 'address' | 'network' | 'total', name: string): MaybePromise<void> => {
      const rule = rules?.[scope]
      return rule ? spend(limits, call, `${group}-${scope}`, name, rule) : undefined
    }
    const atPortal = `${call.portal}:${limits.addressKey(call.clientIp, settings.limits.ipv6Prefix)}`
    const byAddress = whenReady(spendAddress(call, call.portal), () => spendGroup('address', atPortal))
    const byNetwork = whenReady(byAddress, () =>
      spendGroup('network', `${call.portal}:${limits.networkKey(call.clientIp)}`),
    )
    return whenReady(byNetwork, () => spendGroup('total', `${call.portal}`))
  }
}

/** A request that matched no operation: a 404, a 405 or a malformed path. */
export type UnmatchedRequest = ClientFacts & Pick<Call, 'chainId' | 'limit'>
export type UnmatchedLimit = (request: UnmatchedRequest) => MaybePromise<void>

/** Counts unmatched requests as `edge` and `addressLimit` count the operations of their chain. */
export const unmatchedLimit =
  (lookAt: EdgeView, spendAddress: AddressSpender): UnmatchedLimit =>
  (request) => {
    const portal = portalOfChain(chains[request.chainId])
    lookAt(request, portal ?? 'CONSUMER')
    return spendAddress(request, portal)
  }

/** Their account rules bound the mails that an account gets: whoever sends those counts them, not the calls that ask. */
const countedAsMails: ReadonlySet<RateGroup> = new Set(['mfaSend', 'forgot'])

/** An account's API keys count together, and apart from its owner: who has one of them is not to keep the owner from ending it. */
const spenderOf = ({ accountId, apiKeyId }: Caller): string => (apiKeyId === null ? accountId : `${accountId}:keys`)

/** What a caller may do in the operation's group; groups without an account rule for calls share the general one. */
export const callerLimit = (limits: LimitPort, settings: Settings): Stage => {
  const at = byPortal(settings)
  return (call) => {
    if (!call.caller) return undefined
    const { groups } = at(call.caller.portal)
    const { rate } = call.operation.policy
    const group = groups.get(rate)?.account && !countedAsMails.has(rate) ? rate : 'general'
    const rule = groups.get(group)?.account
    return rule ? spend(limits, call, `${group}-account`, spenderOf(call.caller), rule) : undefined
  }
}
