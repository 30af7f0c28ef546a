import type { MaybePromise } from '../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'

/** Called where the waiting for a body begins; what it answers is called once the body is there. */
export type WhileWaiting = (call: Call) => () => MaybePromise<void>

/** Lets a body take its time: the gateway before a domain service has waited for it, and judged, already. */
export const judgedBefore: WhileWaiting = () => () => undefined

/**
 * Judges a call once more whose body took longer than `afterMs` to come: who keeps its last byte back acts neither by a
 * session that has ended meanwhile nor by rights that are gone.
 */
export const judgedAgain =
  (judges: readonly Stage[], afterMs: number): WhileWaiting =>
  (call) => {
    const begun = performance.now()
    const judge = async (): Promise<void> => {
      for (const stage of judges) await stage(call)
    }
    return () => (performance.now() - begun < afterMs ? undefined : judge())
  }
