import { type Call, isCommand } from '../gateway/pipeline/call.ts'
import { readChannelSessionId } from '../gateway/pipeline/headers.ts'
import { type AnyRequest, type HandlerTable, type Operation, Refusal } from '../kernel/index.ts'

export interface Backend {
  /** Resolves with the operation's data or a StreamReply. Rejects with a Refusal. */
  handle(call: Call): Promise<unknown>
  /** An internal error for a handler in this process, an invalid response for an upstream. */
  replyError(internal: string): Refusal
  /** Maximum size of a JSON reply. */
  maxReplyBytes(operation: Operation): number
  /** Time limit of a call to an upstream. */
  timeoutMs?: number
}

/** Range headers are only defined for GET (RFC 9110, 14.2). */
export function conditionalHeader(call: Call, name: 'if-none-match' | 'if-range' | 'range'): string | undefined {
  return call.method === 'GET' || name === 'if-none-match' ? call.headers.optional(name) : undefined
}

export function internalError(internal: string): Refusal {
  return new Refusal('SYSTEM.INTERNAL_ERROR', { internal })
}

/** Throws SYSTEM.NOT_IMPLEMENTED if an operation has no handler. */
export function createInProcessBackend(handlers: HandlerTable, maxReplyBytes: Backend['maxReplyBytes']): Backend {
  return {
    handle: (call) => {
      const handler = handlers.get(call.operation.id)
      if (!handler) throw new Refusal('SYSTEM.NOT_IMPLEMENTED')
      return handler(toRequest(call))
    },
    replyError: internalError,
    maxReplyBytes,
  }
}

/** The policy determines which of caller, workspace, idempotency and upload are set. */
function toRequest(call: Call): AnyRequest {
  return {
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
    hookRuns: call.hookRuns ?? undefined,
    // Created only for handlers that read it.
    get signal() {
      return isCommand(call) ? new AbortController().signal : call.client.signal
    },
  }
}
