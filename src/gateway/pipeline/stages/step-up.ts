import { canonicalPurpose } from '../../../contract/step-up-purpose.ts'
import { confirmedFields, isSteppedUp, Refusal } from '../../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'
import type { StepUpPort } from '../ports.ts'

/** `reason` says why there is none. Only operators see it. */
interface FoundStepUp {
  isFound: boolean
  reason?: string
}

/** Finds the step-up of a call, and sets `steppedUpAt` of its caller. */
export type FindStepUp = (call: Call) => Promise<FoundStepUp>

/**
 * For `mfa.binding: session`. Another replica may have verified it or ended the session, so `authenticate` must read the
 * session from the store.
 */
export function findStepUpBy(authenticate: Stage, stepUpMs: number): FindStepUp {
  return async (call) => {
    const { caller, workspace } = call
    if (!caller || caller.apiKeyId !== null) return { isFound: false }
    await authenticate(call)
    call.workspace = workspace
    return { isFound: isSteppedUp(call.caller ?? caller, call.receivedAt, stepUpMs) }
  }
}

/** For `mfa.binding: purpose`. A call spends at most one step-up. */
export function spendStepUpBy(stepUps: StepUpPort): FindStepUp {
  return async (call) => {
    const { caller, workspace, operation, requestId, idempotencyKey, receivedAt, clientIp, idempotency } = call
    if (!caller || call.steppedUpAt !== null) return { isFound: false }
    const { accountId, apiKeyId, portal } = caller
    const request = { at: receivedAt, requestId, idempotencyKey, clientIp }
    const workspaceId = workspace?.id ?? null
    const spent = await stepUps.spend({
      caller,
      context: { operationId: operation.id, accountId, apiKeyId, portal, ...request },
      workspaceId,
      // Read only for a session that has a recent step-up.
      get purpose() {
        return canonicalPurpose(operation, workspaceId, fieldsOf(call))
      },
      idempotency,
    })
    if ('reason' in spent) return { isFound: false, reason: spent.reason }
    call.steppedUpAt = spent.verifiedAt
    call.caller = { ...caller, steppedUpAt: spent.verifiedAt }
    return { isFound: true }
  }
}

/**
 * Follows the validation, because the purpose depends on the input. If the policy is `maybe`, the handler decides. With
 * `mfa.binding: session`, the permission stage has checked the operations that always need a step-up. Throws
 * ACCESS.STEP_UP_REQUIRED.
 */
export function stepUpStage(findStepUp: FindStepUp, binding: 'purpose' | 'session'): Stage {
  const find = async (call: Call, isRequired: boolean): Promise<void> => {
    const { isFound, reason = null } = await findStepUp(call)
    call.missingStepUp = reason
    if (!isFound && isRequired)
      throw new Refusal('ACCESS.STEP_UP_REQUIRED', reason === null ? {} : { internal: reason })
  }
  return (call) => {
    const { stepUp } = call.operation.policy
    return stepUp === 'maybe' || (stepUp && binding === 'purpose') ? find(call, stepUp === true) : undefined
  }
}

/** A request below a prefix has no fields, so the step-up confirms its method and target. */
function fieldsOf({ operation, below, method, path, query, params, input }: Call): Record<string, unknown> {
  if (below) return { method, target: query === '' ? path : `${path}?${query}` }
  return confirmedFields(operation, input.query, input.body, params)
}
