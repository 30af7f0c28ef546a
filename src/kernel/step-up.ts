import { Refusal } from './refusal.ts'
import type { Caller } from './request.ts'
import { areWithin, type Instant } from './scalars.ts'

/** Whether the caller verified a second factor within `stepUpMs` before `at`. Always false for an API key. */
export function isSteppedUp({ steppedUpAt }: Pick<Caller, 'steppedUpAt'>, at: Instant, stepUpMs: number): boolean {
  return steppedUpAt !== null && areWithin(stepUpMs, steppedUpAt, at)
}

/**
 * Throws ACCESS.STEP_UP_REQUIRED. For operations with the policy `stepUp: 'maybe'`, of which only some requests need a
 * step-up.
 */
export function assertSteppedUp(caller: Pick<Caller, 'steppedUpAt'> | null, at: Instant, stepUpMs: number): void {
  if (!caller || !isSteppedUp(caller, at, stepUpMs)) throw new Refusal('ACCESS.STEP_UP_REQUIRED')
}
