import type { Logger } from 'pino'
import type { HandlerDeadline } from '../backends/index.ts'
import { type AnyHandler, type AnyRequest, type HandlerTable, type Idempotency, Refusal } from '../kernel/index.ts'

/** The requests that were passed to `once`, with their reply after the commit. */
export type ExecutedOnce = WeakMap<Idempotency, { committed?: unknown }>

export interface HandlerChecks {
  executed: ExecutedOnce
  /** Throws if the reply of an operation is invalid. */
  checkReply(operationId: string, reply: unknown): unknown
  deadline: HandlerDeadline
  logger: Logger
}

/** A refusal after the commit can be intended. An error is not. */
const isFailure = (error: unknown): boolean => !(error instanceof Refusal) || error.code.startsWith('SYSTEM.')

/**
 * Throws if the handler of an idempotent operation does not call `once`. If the handler fails after the commit, resolves
 * with the stored reply, as a retry would: the command has taken effect.
 */
const runIdempotent = async (
  id: string,
  run: () => Promise<unknown>,
  idempotency: Idempotency,
  { executed, checkReply, logger }: HandlerChecks,
): Promise<unknown> => {
  try {
    const reply = await run()
    const done = executed.get(idempotency)
    if (!done) throw new Error(`${id} did not call once`)
    if (reply !== done.committed) checkReply(id, reply)
    return reply
  } catch (error) {
    const done = executed.get(idempotency)
    if (!done || !('committed' in done) || !isFailure(error)) throw error
    logger.error({ operation: id, err: error }, 'a handler failed after its command was committed')
    return done.committed
  }
}

/** Sets a deadline, and checks the handlers of idempotent operations. */
export const withChecks = (handlers: HandlerTable, checks: HandlerChecks): HandlerTable => {
  const checked =
    (id: string, handler: AnyHandler): AnyHandler =>
    (request: AnyRequest) =>
      checks.deadline.run(id, (expired) => {
        const { idempotency } = request
        // A handler in JavaScript can return a plain value.
        const run = async () => handler({ ...request, signal: AbortSignal.any([request.signal, expired]) })
        return idempotency ? runIdempotent(id, run, idempotency, checks) : run()
      })
  return new Map([...handlers].map(([id, handler]) => [id, checked(id, handler)]))
}
