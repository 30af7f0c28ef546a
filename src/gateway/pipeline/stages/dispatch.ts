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
  sessionCookieOf,
} from '../../../kernel/index.ts'
import { type Call, clientDisconnected, isCommand } from '../call.ts'

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

/** Default: the backend of the operation. */
export type Dispatch = (call: Call, backend?: Backend) => Promise<void>

export function dispatchStage(backendOf: (operation: Operation) => Backend): Dispatch {
  const serializer = new ReplySerializer()
  return async (call, backend = backendOf(call.operation)) => {
    assertHandshake(call)
    assertAwaited(call)
    const reply = await handleOnce(backend, call).catch((error: unknown) => {
      assertAwaited(call, error)
      throw toDeclared(call, backend, error)
    })
    const { reply: schema } = call.operation
    call.sessionCookie = sessionCookieOf(reply)
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

/** RFC 9110, 15.5.22. */
function assertHandshake({ operation, handshake }: Call): void {
  if (operation.reply !== 'socket' || handshake !== null) return
  const headers = { upgrade: 'websocket', connection: 'close, Upgrade', 'sec-websocket-version': '13' }
  throw new Refusal('REQUEST.UPGRADE_REQUIRED', { headers })
}

/** A handler that nobody waits for may fail for that reason. */
function assertAwaited(call: Call, cause?: unknown): void {
  if (call.client.isGone && !isCommand(call)) throw clientDisconnected(cause)
}

/** Rejects where a backend throws. */
async function handleOnce(backend: Backend, call: Call): Promise<unknown> {
  return backend.handle(call)
}

/** A code that the operation does not declare is a fault of its backend. */
function toDeclared({ operation, missingStepUp }: Call, { replyError }: Backend, error: unknown): unknown {
  if (!(error instanceof Refusal)) return error
  const isStepUp = error.code === 'ACCESS.STEP_UP_REQUIRED'
  if (!declaresRefusal(operation, error.code)) {
    const field = isStepUp ? "`policy.stepUp: 'maybe'`" : '`refuses`'
    return replyError(`${operation.id} refused with ${error.code}, which it does not declare in ${field}`)
  }
  if (!isStepUp || missingStepUp === null) return error
  return new Refusal(error.code, { ...error.detail, internal: missingStepUp, cause: error })
}

/** The connection of a reply of bytes must be released if nobody reads it. */
function isBytes(reply: unknown): reply is StreamReply | SocketReply {
  return reply instanceof StreamReply || reply instanceof SocketReply
}
