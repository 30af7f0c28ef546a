import { type HandlerTable, Refusal } from '../kernel/index.ts'
import type { Backend } from './backend.ts'
import { toRequest } from './request.ts'

/** Calls the domain's handler in this process. An operation without one is declared but not yet served: 501. */
export const inProcess = (handlers: HandlerTable): Backend => ({
  handle: (call) => {
    const handler = handlers.get(call.operation.id)
    if (!handler) throw new Refusal('SYSTEM.NOT_IMPLEMENTED')
    return handler(toRequest(call))
  },
  broken: (internal) => new Refusal('SYSTEM.INTERNAL_ERROR', { internal: `reply breaks its schema: ${internal}` }),
})
