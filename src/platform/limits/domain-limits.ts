import type { MaybePromise } from '../../kernel/index.ts'
import type { LimitRule, LimitState, Limits } from './limits.ts'

/** The limits of one domain, beyond the rate group of an operation. */
export interface DomainLimits {
  /**
   * `name` and `key` select the counter, such as `amount` and the id of a workspace. PORTICO_RATE_LIMIT_SCALE
   * multiplies the limit. Rejects if Redis is unavailable.
   */
  spend(name: string, key: string, rule: LimitRule): MaybePromise<LimitState>
}

export function createDomainLimits(limits: Limits, domain: string): DomainLimits {
  return {
    spend: (name, key, rule) => limits.spend(`${domain}.${name}`, key, rule),
  }
}
