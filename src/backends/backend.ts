import type { Call } from '../gateway/pipeline/call.ts'
import { readChannelSessionId } from '../gateway/pipeline/headers.ts'
import { type AnyRequest, type HandlerTable, Refusal } from '../kernel/index.ts'

/** Serves the operations of a domain, in this process or upstream. */
export interface Backend {
  /** Resolves with the operation's data or a StreamReply. Throws a Refusal. */
  handle(call: Call): Promise<unknown>
  /**
   * Returns the refusal for a reply that does not match its schema: an internal error in process, an invalid response
   * from an upstream.
   */
  replyError(internal: string): Refusal
}

/** Returns a conditional header of a download. Range headers are only defined for GET (RFC 9110, 14.2). */
export const conditionalHeader = (call: Call, name: 'if-none-match' | 'if-range' | 'range'): string | undefined =>
  call.method === 'GET' || name === 'if-none-match' ? call.headers.optional(name) : undefined

/**
 * Returns the call as handlers see it. The policy determines which of caller, workspace, idempotency and upload are set,
 * and the handlers' types follow the policy.
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

/** Returns the backend that calls the handlers of this process. Throws SYSTEM.NOT_IMPLEMENTED without a handler. */
export function createInProcessBackend(handlers: HandlerTable): Backend {
  return {
    handle: (call) => {
      const handler = handlers.get(call.operation.id)
      if (!handler) throw new Refusal('SYSTEM.NOT_IMPLEMENTED')
      return handler(toRequest(call))
    },
    replyError: (internal) =>
      new Refusal('SYSTEM.INTERNAL_ERROR', { internal: `reply does not match its schema: ${internal}` }),
  }
}
