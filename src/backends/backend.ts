import type { Call } from '../gateway/call.ts'
import type { Refusal } from '../kernel/index.ts'

/** The one seam behind the gateway. A reply is the operation's data, or a StreamReply; a refusal is thrown. */
export interface Backend {
  handle(call: Call): Promise<unknown>
  /** What a reply that breaks its schema means here: the fault is ours in process, an invalid response upstream. */
  broken(internal: string): Refusal
}
