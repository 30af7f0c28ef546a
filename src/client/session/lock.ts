/**
 * Runs a task while no other tab of the same origin runs one under the same name; `waited` tells it that another one
 * has just done so.
 */
export type Lock = <T>(name: string, task: (waited: boolean) => Promise<T>) => Promise<T>

const alone: Lock = (_, task) => task(false)

/** More than one try of a renewal takes (attempt.ts). */
const patienceMs = 11_000

/** A tab that the browser has frozen, or the debugger stopped, keeps its lock; nobody waits for it for ever. */
const inTurn: Lock = async (name, task) => {
  const signal = AbortSignal.timeout(patienceMs)
  const has = { turn: false }
  const work = () => {
    has.turn = true
    return task(true)
  }
  try {
    return await navigator.locks.request(name, { signal }, work)
  } catch (error) {
    if (has.turn || !signal.aborted) throw error
    return task(true)
  }
}

const acrossTabs: Lock = async (name, task) => {
  const atOnce = await navigator.locks.request(name, { ifAvailable: true }, async (lock) =>
    lock ? { result: await task(false) } : null,
  )
  return atOnce ? atOnce.result : inTurn(name, task)
}

/**
 * Web Locks where the storage is shared and the browser has them. Without them, or tired of waiting, two tabs may refresh at
 * once, which the gateway answers with the same successor within 30 s.
 */
export const lockFor = (shared: boolean): Lock =>
  shared && typeof navigator !== 'undefined' && 'locks' in navigator ? acrossTabs : alone
