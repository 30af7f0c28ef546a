import { areWithin, Refusal } from '../../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'

const assertPermission = ({ operation: { policy }, workspace, caller }: Call): void => {
  if (policy.permission === null) return
  const rights = policy.workspace === 'none' ? caller?.permissions : workspace?.permissions
  if (!rights?.has(policy.permission))
    throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: `lacks ${policy.permission}` })
}

const assertSteppedUp = ({ operation: { policy }, caller, receivedAt }: Call, stepUpMs: number): void => {
  if (!policy.stepUp) return
  const at = caller?.steppedUpAt ?? null
  if (at === null || !areWithin(stepUpMs, at, receivedAt)) throw new Refusal('ACCESS.STEP_UP_REQUIRED')
}

/**
 * Requires the operation's permission, in the workspace or for the operator, and a second factor of at most `stepUpMs`
 * ago where the policy says so.
 */
export const permissionStage =
  ({ stepUpMs }: { stepUpMs: number }): Stage =>
  (call) => {
    assertPermission(call)
    assertSteppedUp(call, stepUpMs)
  }
