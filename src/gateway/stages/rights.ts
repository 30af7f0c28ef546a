import { domainOf } from '../../kernel/index.ts'
import type { AccessMemory } from '../access-memory.ts'
import type { Call, Stage } from '../call.ts'

/** The domains whose commands decide who may do what. */
const deciding = new Set(['workspaces', 'roles', 'invitations', 'apiKeys', 'operators', 'sandbox'])

const mayChangeRights = ({ operation }: Call): boolean =>
  operation.method === 'POST' && deciding.has(domainOf(operation.id))

/** Runs a stage and then lets the memory of rights go, also when the stage failed: it may have got far enough. */
export const forgettingRights =
  (memory: AccessMemory, stage: Stage): Stage =>
  (call) => {
    if (!mayChangeRights(call)) return stage(call)
    return Promise.resolve(stage(call)).finally(() => memory.changed())
  }
