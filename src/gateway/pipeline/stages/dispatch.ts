import type { z } from 'zod'
import type { Backend } from '../../../backends/index.ts'
import { isFrozenReply, isRecord, type Operation, Refusal, SocketReply, StreamReply } from '../../../kernel/index.ts'
import { type Call, clientDisconnected, isCommand, type Stage } from '../call.ts'
import type { FindStepUp } from './access-control.ts'

type ReplyError = Backend['replyError']

/** Drops properties that the schema does not declare. */
const serialize = (schema: z.ZodType, reply: unknown, replyError: ReplyError): string => {
  const checked = schema.safeParse(reply)
  if (checked.success) return JSON.stringify(checked.data) ?? 'null'
  const issue = checked.error.issues[0]
  throw replyError(`${issue?.path.join('.')}: ${issue?.message}`)
}

/** A frozen reply is converted only once per schema. */
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

/** RFC 9110, 15.5.22. */
const assertHandshake = ({ operation, handshake }: Call): void => {
  if (operation.reply !== 'socket' || handshake !== null) return
  const headers = { upgrade: 'websocket', connection: 'close, Upgrade', 'sec-websocket-version': '13' }
  throw new Refusal('REQUEST.UPGRADE_REQUIRED', { headers })
}

/** A domain service cannot read sessions. */
const findNoStepUp: FindStepUp = async () => false

/** Operations of which only some requests need a step-up read the session from the cache, and once more if refused. */
const handleAgainAfterStepUp = async (backend: Backend, call: Call, findStepUp: FindStepUp): Promise<unknown> => {
  try {
    return await backend.handle(call)
  } catch (error) {
    const isRefused = error instanceof Refusal && error.code === 'ACCESS.STEP_UP_REQUIRED'
    if (!isRefused || !(await findStepUp(call))) throw error
    return backend.handle(call)
  }
}

/** The connection of a reply of bytes must be released if nobody reads it. */
const isBytes = (reply: unknown): reply is StreamReply | SocketReply =>
  reply instanceof StreamReply || reply instanceof SocketReply

export function dispatchStage(
  backendOf: (operation: Operation) => Backend,
  findStepUp: FindStepUp = findNoStepUp,
): Stage {
  const serializer = new ReplySerializer()
  return async (call) => {
    assertHandshake(call)
    if (call.client.isGone && !isCommand(call)) throw clientDisconnected()
    const backend = backendOf(call.operation)
    const reply = await handleAgainAfterStepUp(backend, call, findStepUp)
    const { reply: schema } = call.operation
    if (isRecord(reply) && reply.isTotalEstimated === true) call.isTotalEstimated = true
    if (typeof schema !== 'string' && !isBytes(reply))
      call.reply = serializer.serialize(schema, reply, backend.replyError)
    else if (schema === 'socket' && reply instanceof SocketReply) call.reply = reply
    else if (typeof schema === 'string' && schema !== 'socket' && reply instanceof StreamReply) call.reply = reply
    else {
      if (reply instanceof StreamReply) reply.body.destroy()
      if (reply instanceof SocketReply) reply.channel.destroy()
      throw backend.replyError(typeof schema === 'string' ? 'expected a stream' : 'expected data')
    }
  }
}
