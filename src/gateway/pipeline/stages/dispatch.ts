import type { z } from 'zod'
import { type Backend, replyText } from '../../../backends/index.ts'
import { declaresRefusal } from '../../../contract/policies.ts'
import {
  checkedTextOf,
  isFrozenReply,
  isRecord,
  type Operation,
  Refusal,
  SocketReply,
  StreamReply,
} from '../../../kernel/index.ts'
import { type Call, clientDisconnected, isCommand, type Stage } from '../call.ts'
import type { FindStepUp } from './step-up.ts'

/** A frozen reply is converted only once per schema. A stored reply was converted before its command was committed. */
class ReplySerializer {
  readonly #constants = new WeakMap<object, { schema: z.ZodType; text: string }>()

  serialize(schema: z.ZodType, reply: unknown, { operation }: Call, { maxReplyBytes, replyError }: Backend): string {
    const checkedText = checkedTextOf(reply)
    if (checkedText !== undefined) return checkedText
    const maxBytes = maxReplyBytes(operation)
    if (!isFrozenReply(reply)) return replyText(schema, reply, maxBytes, replyError)
    const cached = this.#constants.get(reply)
    if (cached?.schema === schema) return cached.text
    const text = replyText(schema, reply, maxBytes, replyError)
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
const findNoStepUp: FindStepUp = async () => ({ isFound: false })

/** Operations of which only some requests need a step-up look for one only if refused, and are then handled again. */
const handleAgainAfterStepUp = async (backend: Backend, call: Call, findStepUp: FindStepUp): Promise<unknown> => {
  try {
    return await backend.handle(call)
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'ACCESS.STEP_UP_REQUIRED') throw error
    const { isFound, reason } = await findStepUp(call)
    if (isFound) return backend.handle(call)
    throw reason === undefined ? error : new Refusal(error.code, { ...error.detail, internal: reason, cause: error })
  }
}

/** A code that the operation does not declare is a fault of its backend. */
const toDeclared = ({ operation }: Call, { replyError }: Backend, error: unknown): unknown =>
  error instanceof Refusal && !declaresRefusal(operation, error.code)
    ? replyError(`${operation.id} refused with ${error.code}, which it does not declare in \`refuses\``)
    : error

/** A handler that nobody waits for may fail for that reason. */
const assertAwaited = (call: Call, cause?: unknown): void => {
  if (call.client.isGone && !isCommand(call)) throw clientDisconnected(cause)
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
    assertAwaited(call)
    const backend = backendOf(call.operation)
    const reply = await handleAgainAfterStepUp(backend, call, findStepUp).catch((error: unknown) => {
      assertAwaited(call, error)
      throw toDeclared(call, backend, error)
    })
    const { reply: schema } = call.operation
    if (isRecord(reply) && reply.isTotalEstimated === true) call.isTotalEstimated = true
    if (typeof schema !== 'string' && !isBytes(reply)) call.reply = serializer.serialize(schema, reply, call, backend)
    else if (schema === 'socket' && reply instanceof SocketReply) call.reply = reply
    else if (typeof schema === 'string' && schema !== 'socket' && reply instanceof StreamReply) call.reply = reply
    else {
      if (reply instanceof StreamReply) reply.body.destroy()
      if (reply instanceof SocketReply) reply.channel.destroy()
      const expected = typeof schema === 'string' ? 'a stream' : 'data'
      throw backend.replyError(`reply does not match its schema: expected ${expected}`)
    }
    assertAwaited(call)
  }
}
