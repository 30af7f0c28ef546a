import { hash } from 'node:crypto'
import { canonicalJson, invalid } from '../../kernel/index.ts'
import type { Stage } from '../call.ts'

/**
 * X-Request-Id is the key of a command (completions.md, Money). The store spends it in the effect's own transaction;
 * here it is only bound to what was asked for.
 */
export const idempotency: Stage = (call) => {
  if (!call.operation.policy.idempotent) return
  // A chain that demands no request id elsewhere demands it here: an id of our own would make nothing happen once.
  if (!call.headers.has('x-request-id')) throw invalid('x-request-id')
  const bodyHash = hash('sha256', canonicalJson({ params: call.params, body: call.input.body }))
  call.idempotency = { requestId: call.requestId, bodyHash }
}
