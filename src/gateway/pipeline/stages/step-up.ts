import { canonicalPurpose, confirmedFields } from '../../../contract/step-up-purpose.ts'
import { Refusal } from '../../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'
import type { StepUpPort } from '../ports.ts'

/** `reason` says why there is none. Only operators see it. */
interface FoundStepUp {
  isFound: boolean
  reason?: string
}

/** Finds a step-up for a call that was refused without one, and sets `steppedUpAt` of its caller. */
export type FindStepUp = (call: Call) => Promise<FoundStepUp>

/** For `mfa.binding: session`. Another replica may have verified it. `authenticate` must read the session from the store. */
export function findStepUpBy(authenticate: Stage): FindStepUp {
  return async (call) => {
    const { caller, workspace } = call
    if (!caller || caller.apiKeyId !== null) return { isFound: false }
    await authenticate(call)
    call.workspace = workspace
    return { isFound: call.caller !== null && call.caller.steppedUpAt !== caller.steppedUpAt }
  }
}

/** A request below a prefix has no fields, so the step-up confirms its method and target. */
const fieldsOf = ({ operation, below, method, path, query, params, input }: Call): Record<string, unknown> => {
  if (below) return { method, target: query === '' ? path : `${path}?${query}` }
  return confirmedFields(operation, input.query, input.body, params)
}

/** For `mfa.binding: purpose`. A call spends at most one step-up. */
export function spendStepUpBy(stepUps: StepUpPort): FindStepUp {
  return async (call) => {
    const { caller, workspace, operation, requestId, receivedAt, clientIp, idempotency } = call
    if (!caller || call.steppedUpAt !== null) return { isFound: false }
    const { accountId, apiKeyId, portal } = caller
    const workspaceId = workspace?.id ?? null
    const spent = await stepUps.spend({
      caller,
      context: { operationId: operation.id, accountId, apiKeyId, portal, at: receivedAt, requestId, clientIp },
      workspaceId,
      purpose: canonicalPurpose(operation, workspaceId, fieldsOf(call)),
      idempotency,
    })
    if ('reason' in spent) return { isFound: false, reason: spent.reason }
    call.steppedUpAt = spent.verifiedAt
    call.caller = { ...caller, steppedUpAt: spent.verifiedAt }
    return { isFound: true }
  }
}

/**
 * For operations that always need a step-up. Follows the validation, because the purpose depends on the input. Throws
 * ACCESS.STEP_UP_REQUIRED.
 */
export function stepUpStage(spendStepUp: FindStepUp): Stage {
  const spend = async (call: Call): Promise<void> => {
    const { isFound, reason } = await spendStepUp(call)
    if (!isFound) throw new Refusal('ACCESS.STEP_UP_REQUIRED', reason === undefined ? {} : { internal: reason })
  }
  return (call) => (call.operation.policy.stepUp ? spend(call) : undefined)
}
