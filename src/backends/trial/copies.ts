import type { Call, TrialUse } from '../../gateway/pipeline/call.ts'
import type { Operation, Refusal } from '../../kernel/index.ts'

/** Gets copies of reads after their responses were sent. */
export interface Shadow {
  /** Never throws. Sets the verdict in `use`, also later. `refusal` is null after a success. */
  offer(call: Call, refusal: Refusal | null, use: TrialUse): void
  close(): Promise<void>
}

/** After the response. `call` is null if the request matched no operation, `status` if its client disconnected. */
export function copyToShadow(
  { trialOf }: { trialOf(operation: Operation): { shadow: Shadow | null } | null },
  { call, refusal, status }: { call: Call | null; refusal: Refusal | null; status: number | null },
): void {
  // Only the stage `serve` sets `trial`, so earlier refusals are not copied.
  if (call?.trial?.servedBy === 'backend' && status !== null)
    trialOf(call.operation)?.shadow?.offer(call, refusal, call.trial)
}

/** Reads without effects: neither commands nor streams, nor reads that spend a step-up or emit events. */
export function isShadowed({ method, reply, body, policy, emits = [] }: Operation): boolean {
  return (
    method === 'GET' &&
    body === 'none' &&
    typeof reply !== 'string' &&
    !policy.idempotent &&
    !policy.changesRights &&
    policy.stepUp === false &&
    emits.length === 0
  )
}
