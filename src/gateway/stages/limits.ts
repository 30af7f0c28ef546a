import { type Configuration, type LimitRule, limitsOf, type PortalLimits } from '../../config/index.ts'
import {
  type Caller,
  type MaybePromise,
  type Portal,
  type RateGroup,
  rateLimited,
  thenSync,
} from '../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'
import type { LimitPort, Spent } from '../ports.ts'

type Settings = Pick<Configuration, 'limits' | 'portals'>

const judge = (call: Call, name: string, rule: LimitRule, { allowed, limit, remaining, resetMs }: Spent): void => {
  // A limit that refuses is what the caller has to wait for, also where another one has nothing left either.
  if (!allowed || call.limit === null || remaining < call.limit.remaining)
    call.limit = { name, windowMs: rule.windowMs, limit, remaining, resetMs }
  if (allowed) return
  throw rateLimited(resetMs, `limit ${name}`)
}

const spend = (limits: LimitPort, call: Call, name: string, key: string, rule: LimitRule): MaybePromise<void> =>
  thenSync(limits.spend(name, key, rule), (spent) => judge(call, name, rule, spent))

/** Each portal's limits; those of the configuration alone while a portal is not known yet. */
const byPortal = (settings: Settings): ((portal: Portal | null) => PortalLimits) => {
  const unknown = limitsOf(settings, null)
  const known = { CONSUMER: limitsOf(settings, 'CONSUMER'), SYSTEM: limitsOf(settings, 'SYSTEM') }
  return (portal) => (portal === null ? unknown : known[portal])
}

/**
 * The limits of an address: of all its operations, and of the operation's group by address, network and all clients.
 * Narrow limits come first, so that what they refuse uses up no wider one that others share.
 */
export const addressLimit = (limits: LimitPort, settings: Settings): Stage => {
  const at = byPortal(settings)
  return (call) => {
    const { address, isAddressOwn, groups } = at(call.portal)
    const key = limits.addressKey(call.clientIp, settings.limits.ipv6Prefix)
    const atPortal = `${call.portal}:${key}`
    const group = call.operation.policy.rate
    const rules = groups.get(group)
    const spendGroup = (scope: 'address' | 'network' | 'total', name: string): MaybePromise<void> => {
      const rule = rules?.[scope]
      return rule ? spend(limits, call, `${group}-${scope}`, name, rule) : undefined
    }
    const spent = spend(limits, call, 'address', isAddressOwn ? atPortal : key, address)
    const byAddress = thenSync(spent, () => spendGroup('address', atPortal))
    const byNetwork = thenSync(byAddress, () =>
      spendGroup('network', `${call.portal}:${limits.networkKey(call.clientIp)}`),
    )
    return thenSync(byNetwork, () => spendGroup('total', `${call.portal}`))
  }
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
