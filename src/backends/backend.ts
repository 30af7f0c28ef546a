import type { Call } from '../gateway/pipeline/call.ts'
import type { Refusal } from '../kernel/index.ts'

/** Serves the operations of a domain: in this process or upstream. Everything behind the gateway implements it. */
export interface Backend {
  /** Resolves with the operation's data or a StreamReply. Throws a Refusal. */
  handle(call: Call): Promise<unknown>
  /** Returns the refusal for a reply that breaks its schema: our own fault in process, an invalid response upstream. */
  replyError(internal: string): Refusal
}

/** Returns a conditional header of a download. Range headers have a meaning for GET only (RFC 9110, 14.2). */
export const conditionalHeader = (call: Call, name: 'if-none-match' | 'if-range' | 'range'): string | undefined =>
  call.method === 'GET' || name === 'if-none-match' ? call.headers.optional(name) : undefined
