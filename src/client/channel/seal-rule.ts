import type { SealRule } from '../options.ts'
import type { CallableOperation } from '../portal/operation.ts'

/** If the operation allows the channel, `requested` overrides the rule. */
export function shouldSeal(operation: CallableOperation, rule: SealRule, requested: boolean | undefined): boolean {
  if (operation.policy.channel === 'none') return false
  if (requested !== undefined) return requested
  return rule === 'all' || (rule === 'sensitive' && isSensitive(operation))
}

function isSensitive({ policy, body }: CallableOperation): boolean {
  return (
    policy.stepUp === true ||
    policy.rate === 'login' ||
    policy.rate === 'password' ||
    (policy.caller === 'anonymous' && body !== 'none')
  )
}
