import { hash } from 'node:crypto'
import { headers } from '../../../contract/headers.ts'
import { canonicalJson, invalid } from '../../../kernel/index.ts'
import type { Call } from '../call.ts'

/**
 * Binds the idempotency key of a command, X-Request-Id, to a hash of its input. The store records the key in the
 * transaction of the command itself.
 */
export function idempotencyStage(call: Call): void {
  if (!call.operation.policy.idempotent) return
  // Required here even on chains that generate request ids: a generated id would not deduplicate a retry.
  if (!call.headers.has(headers.requestId.field)) throw invalid(headers.requestId.field)
  const bodyHash = hash('sha256', canonicalJson({ params: call.params, body: call.input.body }))
  call.idempotency = { requestId: call.requestId, bodyHash }
}
