import type { Backend } from '../../backends/backend.ts'
import { type Operation, StreamReply } from '../../kernel/index.ts'
import type { Stage } from '../call.ts'

/** Hands the call to the back-end that serves its domain, and lets nothing out that the contract does not promise. */
export const serve =
  (backendOf: (operation: Operation) => Backend): Stage =>
  async (call) => {
    const backend = backendOf(call.operation)
    const reply = await backend.handle(call)
    const { reply: promised } = call.operation
    if (promised === 'stream') {
      if (!(reply instanceof StreamReply)) throw backend.broken('a stream was promised')
      call.data = reply
      return
    }
    const checked = promised.safeParse(reply)
    if (!checked.success) {
      const issue = checked.error.issues[0]
      throw backend.broken(`${issue?.path.join('.')}: ${issue?.message}`)
    }
    call.data = checked.data
  }
