import type { Call } from '../gateway/pipeline/call.ts'
import { readChannelSessionId } from '../gateway/pipeline/headers.ts'
import { type AnyRequest, type HandlerTable, Refusal } from '../kernel/index.ts'
import { type Backend, conditionalHeader } from './backend.ts'

/**
 * Returns the call as handlers see it. The policy determines which of caller, workspace, idempotency and upload are set,
 * and the types of the handlers follow it.
 */
const toRequest = (call: Call): AnyRequest => ({
  operationId: call.operation.id,
  requestId: call.requestId,
  receivedAt: call.receivedAt,
  portal: call.portal ?? 'CONSUMER',
  locale: call.locale,
  clientIp: call.clientIp,
  clientHash: call.clientHash,
  userAgent: call.userAgent,
  country: call.country,
  channelSessionId: readChannelSessionId(call.headers),
  range: conditionalHeader(call, 'range') ?? null,
  ifNoneMatch: conditionalHeader(call, 'if-none-match') ?? null,
  ifRange: conditionalHeader(call, 'if-range') ?? null,
  headOnly: call.headOnly,
  params: call.params,
  query: call.input.query,
  body: call.input.body,
  caller: call.caller,
  workspace: call.workspace,
  idempotency: call.idempotency,
  upload: call.upload,
})

/** Returns the backend that calls the handlers of this process. An operation without a handler is refused with 501. */
export function createInProcessBackend(handlers: HandlerTable): Backend {
  return {
    handle: (call) => {
      const handler = handlers.get(call.operation.id)
      if (!handler) throw new Refusal('SYSTEM.NOT_IMPLEMENTED')
      return handler(toRequest(call))
    },
    replyError: (internal) =>
      new Refusal('SYSTEM.INTERNAL_ERROR', { internal: `reply breaks its schema: ${internal}` }),
  }
}
