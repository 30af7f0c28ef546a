import type { z } from 'zod'
import type { Backend } from '../../../backends/index.ts'
import { isFrozenReply, type Operation, StreamReply } from '../../../kernel/index.ts'
import type { Stage } from '../call.ts'

type ReplyError = Backend['replyError']

/**
 * Converts a reply to JSON text by the schema of the contract. Properties that the schema does not declare are dropped.
 */
const serialize = (schema: z.ZodType, reply: unknown, replyError: ReplyError): string => {
  const checked = schema.safeParse(reply)
  if (checked.success) return JSON.stringify(checked.data) ?? 'null'
  const issue = checked.error.issues[0]
  throw replyError(`${issue?.path.join('.')}: ${issue?.message}`)
}

/** Converts replies to JSON. A frozen reply is converted only once per schema. */
class ReplySerializer {
  readonly #constants = new WeakMap<object, { schema: z.ZodType; text: string }>()

  serialize(schema: z.ZodType, reply: unknown, replyError: ReplyError): string {
    if (!isFrozenReply(reply)) return serialize(schema, reply, replyError)
    const cached = this.#constants.get(reply)
    if (cached?.schema === schema) return cached.text
    const text = serialize(schema, reply, replyError)
    this.#constants.set(reply, { schema, text })
    return text
  }
}

/** Hands the call to the backend of its domain and checks the reply against the contract. */
export function dispatchStage(backendOf: (operation: Operation) => Backend): Stage {
  const serializer = new ReplySerializer()
  return async (call) => {
    const backend = backendOf(call.operation)
    const reply = await backend.handle(call)
    const { reply: schema } = call.operation
    if (schema !== 'stream') call.reply = serializer.serialize(schema, reply, backend.replyError)
    else if (reply instanceof StreamReply) call.reply = reply
    else throw backend.replyError('expected a stream')
  }
}
