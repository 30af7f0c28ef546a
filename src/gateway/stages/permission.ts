import { areWithin, Refusal } from '../../kernel/index.ts'
import type { Stage } from '../call.ts'

/** The right that the operation names, in the workspace or on the operators' portal; and a fresh second factor where it asks for one. */
export const permission =
  ({ stepUpMs }: { stepUpMs: number }): Stage =>
  ({ operation: { policy }, workspace, caller, receivedAt }) => {
    if (policy.permission !== null) {
      const rights = policy.workspace === 'none' ? caller?.permissions : workspace?.permissions
      if (!rights?.has(policy.permission))
        throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: `lacks ${policy.permission}` })
    }
    if (policy.stepUp) {
      const at = caller?.steppedUpAt ?? null
      if (at === null || !areWithin(stepUpMs, at, receivedAt)) throw new Refusal('ACCESS.STEP_UP_REQUIRED')
    }
  }
