import { type Configuration, type LimitRule, limitsOf, type PortalLimits } from '../../../config/index.ts'
import {
  type Caller,
  type MaybePromise,
  type Portal,
  type RateGroup,
  rateLimited,
  whenReady,
} from '../../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'
import type { LimitPort, SpendResult } from '../ports.ts'

type Settings = Pick<Configuration, 'limits' | 'portals'>

/** Records the tightest limit of the call. Throws ACCESS.RATE_LIMITED when it is used up. */
const assertAllowed = (
  call: Call,
  name: string,
  rule: LimitRule,
  { allowed, limit, remaining, resetMs }: SpendResult,
): void => {
  // A limit that refuses is always the one to report: the caller has to wait for it.
  if (!allowed || call.limit === null || remaining < call.limit.remaining)
    call.limit = { name, windowMs: rule.windowMs, limit, remaining, resetMs }
  if (!allowed) throw rateLimited(resetMs, `limit ${name}`)
}

const spend = (limits: LimitPort, call: Call, name: string, key: string, rule: LimitRule): MaybePromise<void> =>
  whenReady(limits.spend(name, key, rule), (result) => assertAllowed(call, name, rule, result))

/** Returns the limits of each portal; those common to both while the portal is unknown. */
const limitsByPortal = (settings: Settings): ((portal: Portal | null) => PortalLimits) => {
  const common = limitsOf(settings, null)
  const byPortal = { CONSUMER: limitsOf(settings, 'CONSUMER'), SYSTEM: limitsOf(settings, 'SYSTEM') }
  return (portal) => (portal === null ? common : byPortal[portal])
}

/**
 * Spends the limits of the client's address: for all operations, then for the operation's group by address, network and
 * in total. Narrow limits come first, so that the calls they refuse do not use up a limit that others share.
 */
export function addressLimitStage(limits: LimitPort, settings: Settings): Stage {
  const limitsAt = limitsByPortal(settings)
  return (call) => {
    const { address, isAddressOwn, groups } = limitsAt(call.portal)
    const key = limits.addressKey(call.clientIp, settings.limits.ipv6Prefix)
    const portalKey = `${call.portal}:${key}`
    const group = call.operation.policy.rate
    const rules = groups.get(group)
    const spendGroup = (scope: 'address' | 'network' | 'total', spender: string): MaybePromise<void> => {
      const rule = rules?.[scope]
      return rule ? spend(limits, call, `${group}-${scope}`, spender, rule) : undefined
    }
    const general = spend(limits, call, 'address', isAddressOwn ? portalKey : key, address)
    const byAddress = whenReady(general, () => spendGroup('address', portalKey))
    const byNetwork = whenReady(byAddress, () =>
      spendGroup('network', `${call.portal}:${limits.networkKey(call.clientIp)}`),
    )
    return whenReady(byNetwork, () => spendGroup('total', `${call.portal}`))
  }
}

/** The account rules of these groups limit mails per account. The sender of the mails counts them, not the calls. */
const countedAsMails: ReadonlySet<RateGroup> = new Set(['mfaSend', 'forgot'])

/** API keys of an account count together, apart from its owner: a leaked key must not keep the owner from revoking it. */
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
