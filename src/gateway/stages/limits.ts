import type { Configuration, LimitRule } from '../../config/index.ts'
import { type MaybePromise, Refusal, whenReady } from '../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'
import type { LimitPort, Spent } from '../ports.ts'

const judge = (call: Call, name: string, rule: LimitRule, { allowed, limit, remaining, resetMs }: Spent): void => {
  if (call.limit === null || remaining < call.limit.remaining)
    call.limit = { name, windowMs: rule.windowMs, limit, remaining, resetMs }
  if (allowed) return
  const retryAfter = Math.max(1, Math.ceil(resetMs / 1000))
  throw new Refusal('ACCESS.RATE_LIMITED', { retryAfter, internal: `limit ${name}` })
}

const spend = (limits: LimitPort, call: Call, name: string, key: string, rule: LimitRule): MaybePromise<void> =>
  whenReady(limits.spend(name, key, rule), (spent) => judge(call, name, rule, spent))

/** What any one address may do: overall, and in the operation's group. */
export const addressLimit = (limits: LimitPort, settings: Configuration['limits']): Stage => {
  return (call) => {
    const key = limits.addressKey(call.clientIp, settings.ipv6Prefix)
    const group = call.operation.policy.rate
    const rule = settings.groups[group]?.address
    return whenReady(spend(limits, call, 'address', key, settings.address), () =>
      rule ? spend(limits, call, `${group}-address`, `${call.portal}:${key}`, rule) : undefined,
    )
  }
}

/** What a caller may do in the operation's group; groups without an account rule of their own share the general one. */
export const callerLimit = (limits: LimitPort, settings: Configuration['limits']): Stage => {
  return (call) => {
    if (!call.caller) return undefined
    const group = settings.groups[call.operation.policy.rate]?.account ? call.operation.policy.rate : 'general'
    const rule = settings.groups[group]?.account
    return rule ? spend(limits, call, `${group}-account`, call.caller.accountId, rule) : undefined
  }
}
