import { type Call, isCommand, portalOfCall } from '../gateway/pipeline/call.ts'
import { readChannelSessionId } from '../gateway/pipeline/headers.ts'
import { type AnyHandler, type AnyRequest, type HandlerTable, type Operation, Refusal } from '../kernel/index.ts'
import { HandlerEvents, isAsyncIterable, readLastEventId } from './event-bytes.ts'
import { internalError } from './internal-error.ts'

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

/** Throws SYSTEM.NOT_IMPLEMENTED if an operation has no handler. */
export function createInProcessBackend(handlers: HandlerTable, maxReplyBytes: Backend['maxReplyBytes']): Backend {
  return {
    handle: (call) => {
      const handler = handlers.get(call.operation.id)
      if (!handler) throw new Refusal('SYSTEM.NOT_IMPLEMENTED')
      return call.operation.reply === 'events' ? openEvents(call, handler) : handler(toRequest(call))
    },
    replyError: internalError,
    maxReplyBytes,
  }
}

/** The handler returns its events, and its generator sends them until the signal aborts. */
async function openEvents(call: Call, handler: AnyHandler): Promise<HandlerEvents> {
  const lastEventId = readLastEventId(call)
  const ended = new AbortController()
  const signal = AbortSignal.any([call.client.signal, ended.signal])
  const events = await handler({ ...toRequest(call), lastEventId, signal })
  if (!isAsyncIterable(events)) throw internalError(`the handler of ${call.operation.id} returned no async iterable`)
  return new HandlerEvents(events, ended)
}

/** The policy determines which of caller, workspace, idempotency and upload are set. */
function toRequest(call: Call): AnyRequest {
  return {
    operationId: call.operation.id,
    requestId: call.requestId,
    receivedAt: call.receivedAt,
    portal: portalOfCall(call),
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
    lastEventId: null,
    keyProof: call.keyProof,
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
