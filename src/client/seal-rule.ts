import type { Operation } from '../kernel/index.ts'
import type { SealRule } from './options.ts'

/** Whether a secret goes in or comes out: before sign-in, where a second factor is tried, and where a fresh one is asked for. */
const isSensitive = ({ policy, body }: Operation): boolean =>
  policy.stepUp ||
  policy.rate === 'login' ||
  policy.rate === 'password' ||
  (policy.caller === 'anonymous' && body !== 'none')

/** Whether a call goes through the secure channel. An operation that the channel is not for never does. */
export const isSealed = (operation: Operation, rule: SealRule, asked: boolean | undefined): boolean => {
  if (operation.policy.channel === 'none') return false
  if (asked !== undefined) return asked
  return rule === 'all' || (rule === 'sensitive' && isSensitive(operation))
}
