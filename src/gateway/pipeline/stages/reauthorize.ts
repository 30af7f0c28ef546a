import type { MaybePromise } from '../../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'

/** Called before the body is read; the returned function is called after its last byte. */
export type Reauthorize = (call: Call) => () => MaybePromise<void>

/** No reauthorization in a domain service: the gateway in front of it has already done it. */
export const skipReauthorization: Reauthorize = () => () => undefined

/**
 * Runs the authorization stages again for a call whose body took longer than `afterMs`. Otherwise a client could hold back
 * the last byte and act with a session or rights that have ended meanwhile.
 */
export const reauthorizeAfter =
  (stages: readonly Stage[], afterMs: number): Reauthorize =>
  (call) => {
    const start = performance.now()
    const runAgain = async (): Promise<void> => {
      for (const stage of stages) await stage(call)
    }
    return () => (performance.now() - start < afterMs ? undefined : runAgain())
  }
