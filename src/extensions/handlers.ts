import type { HandlerDeadline } from '../backends/index.ts'
import type { Catalogue } from '../contract/index.ts'
import { type AnyHandler, type HandlerTable, type Idempotency, Refusal } from '../kernel/index.ts'

/** The idempotency keys of requests that were passed to `once`. */
export type ExecutedOnce = WeakSet<Idempotency>

/**
 * Sets a deadline. Throws if a handler refuses with an undeclared code, or if an idempotent operation does not call
 * `once`.
 */
export const withChecks = (
  handlers: HandlerTable,
  { isCode }: Pick<Catalogue, 'isCode'>,
  executed: Pick<ExecutedOnce, 'has'>,
  deadline: HandlerDeadline,
): HandlerTable => {
  const checked =
    (id: string, handler: AnyHandler): AnyHandler =>
    async (request) => {
      try {
        // A handler in JavaScript can return a plain value.
        const reply = await deadline.run(id, Promise.resolve(handler(request)))
        if (request.idempotency && !executed.has(request.idempotency)) throw new Error(`${id} did not call once`)
        return reply
      } catch (error) {
        if (error instanceof Refusal && !isCode(error.code))
          throw new Error(`${id} refused with ${error.code}, which no owner declares`, { cause: error })
        throw error
      }
    }
  return new Map([...handlers].map(([id, handler]) => [id, checked(id, handler)]))
}
