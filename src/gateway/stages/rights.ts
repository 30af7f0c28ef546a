import type { AccessMemory } from '../access-memory.ts'
import type { Stage } from '../call.ts'

/**
 * Runs a stage and then lets the memory of rights go where the operation may have changed them, also when the stage failed:
 * it may have got far enough.
 */
export const forgettingRights =
  (memory: Pick<AccessMemory, 'changed'>, stage: Stage): Stage =>
  (call) => {
    if (!call.operation.policy.changesRights) return stage(call)
    return Promise.resolve(stage(call)).finally(() => memory.changed())
  }
