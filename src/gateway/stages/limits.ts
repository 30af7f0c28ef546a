import type { Configuration, LimitRule } from '../../config/index.ts'
import { Refusal } from '../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'
import type { LimitPort } from '../ports.ts'

const spend = async (limits: LimitPort, call: Call, name: string, key: string, rule: LimitRule): Promise<void> => {
  const { allowed, limit, remaining, resetMs } = await limits.spend(name, key, rule)
  if (call.limit === null || remaining < call.limit.remaining)
    call.limit = { name, windowMs: rule.windowMs, limit, remaining, resetMs }
  if (allowed) return
  const retryAfter = Math.max(1, Math.ceil(resetMs / 1000))
  throw new Refusal('ACCESS.RATE_LIMITED', { retryAfter, internal: `limit ${name}` })
}

/** What any one address may do: overall, and in the operation's group. */
export const addressLimit = (limits: LimitPort, settings: Configuration['limits']): Stage => {
  return async (call) => {
    const key = limits.addressKey(call.clientIp, settings.ipv6Prefix)
    await spend(limits, call, 'address', key, settings.address)
    const group = call.operation.policy.rate
    const rule = settings.groups[group]?.address
    if (rule) await spend(limits, call, `${group}-address`, `${call.portal}:${key}`, rule)
  }
}

/** What a caller may do in the operation's group; groups without an account rule of their own share the general one. */
export const callerLimit = (limits: LimitPort, settings: Configuration['limits']): Stage => {
  return async (call) => {
    if (!call.caller) return
    const group = settings.groups[call.operation.policy.rate]?.account ? call.operation.policy.rate : 'general'
    const rule = settings.groups[group]?.account
    if (rule) await spend(limits, call, `${group}-account`, call.caller.accountId, rule)
  }
}
