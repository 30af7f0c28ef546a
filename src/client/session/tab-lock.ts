/**
 * Runs a task while no other tab of the same origin runs one under the same name; `waited` tells it that another one
 * has just done so.
 */
export type TabLock = <T>(name: string, task: (waited: boolean) => Promise<T>) => Promise<T>

const alone: TabLock = (_, task) => task(false)

/** More than one try of a renewal takes (attempt.ts). */
const patienceMs = 11_000

/** By a lock, as `ask` has it; without one where that is not to be had. What the task itself fails with is handed on. */
const orWithout = async <T>(task: () => Promise<T>, ask: (work: () => Promise<T>) => Promise<T>): Promise<T> => {
  const has = { turn: false }
  const work = (): Promise<T> => {
    has.turn = true
    return task()
  }
  try {
    return await ask(work)
  } catch (error) {
    if (has.turn) throw error
    return task()
  }
}

/** A tab that the browser has frozen, or the debugger stopped, keeps its lock; nobody waits for it for ever. */
const inTurn: TabLock = (name, task) =>
  orWithout(
    () => task(true),
    (work) => navigator.locks.request(name, { signal: AbortSignal.timeout(patienceMs) }, work),
  )

const acrossTabs: TabLock = async <T>(name: string, task: (waited: boolean) => Promise<T>) => {
  const first = async (): Promise<{ result: T } | null> => ({ result: await task(false) })
  const atOnce = await orWithout(first, (work) =>
    navigator.locks.request(name, { ifAvailable: true }, async (lock) => (lock ? work() : null)),
  )
  return atOnce ? atOnce.result : inTurn(name, task)
}

/**
 * Web Locks where the storage is shared and the browser has them. Without them, where it refuses them (a sandboxed frame,
 * forbidden site data), or tired of waiting, two tabs may refresh at once, which the gateway answers with the same successor
 * within 30 s.
 */
export const createTabLock = (shared: boolean): TabLock =>
  shared && typeof navigator !== 'undefined' && 'locks' in navigator ? acrossTabs : alone

const stepMs = 25
const patienceMs = 500

/**
 * Reads until the value is what another tab should have written. Browsers bring a tab's writes to another tab's
 * localStorage a moment late, and a lock does not wait for that. After half a second what is there is taken for the truth.
 */
export const readUntilChanged = async <T>(read: () => Promise<T>, isNews: (value: T) => boolean): Promise<T> => {
  for (let waitedMs = 0; ; waitedMs += stepMs) {
    const value = await read()
    if (isNews(value) || waitedMs >= patienceMs) return value
    await new Promise((resolve) => setTimeout(resolve, stepMs))
  }
}
