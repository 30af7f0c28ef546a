import type { z } from 'zod'
import type { Backend } from '../../backends/index.ts'
import { isFrozenReply, type Operation, StreamReply } from '../../kernel/index.ts'
import type { Stage } from '../call.ts'

/** The reply as the contract promises it, in JSON; whatever else the back-end said is left out, or breaks the promise. */
const written = (promised: z.ZodType, reply: unknown, broken: Backend['broken']): string => {
  const checked = promised.safeParse(reply)
  if (checked.success) return JSON.stringify(checked.data) ?? 'null'
  const issue = checked.error.issues[0]
  throw broken(`${issue?.path.join('.')}: ${issue?.message}`)
}

/** Hands the call to the back-end that serves its domain, and lets nothing out that the contract does not promise. */
export const serve = (backendOf: (operation: Operation) => Backend): Stage => {
  // What never changes is checked and written once for each promise that it keeps.
  const constants = new WeakMap<object, { promised: z.ZodType; text: string }>()
  const textOf = (promised: z.ZodType, reply: unknown, broken: Backend['broken']): string => {
    if (!isFrozenReply(reply)) return written(promised, reply, broken)
    const known = constants.get(reply)
    if (known?.promised === promised) return known.text
    const text = written(promised, reply, broken)
    constants.set(reply, { promised, text })
    return text
  }
  return async (call) => {
    const backend = backendOf(call.operation)
    const reply = await backend.handle(call)
    const { reply: promised } = call.operation
    if (promised !== 'stream') call.reply = textOf(promised, reply, backend.broken)
    else if (reply instanceof StreamReply) call.reply = reply
    else throw backend.broken('a stream was promised')
  }
}
