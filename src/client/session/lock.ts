/**
 * Runs a task while no other tab of the same origin runs one under the same name; `waited` tells it that another one
 * has just done so.
 */
export type Lock = <T>(name: string, task: (waited: boolean) => Promise<T>) => Promise<T>

const alone: Lock = (_, task) => task(false)

const acrossTabs: Lock = async (name, task) => {
  const { locks } = navigator
  const atOnce = await locks.request(name, { ifAvailable: true }, async (lock) =>
    lock ? { result: await task(false) } : null,
  )
  return atOnce ? atOnce.result : locks.request(name, () => task(true))
}

/**
 * Web Locks where the storage is shared and the browser has them. Without them two tabs may refresh at once, which the
 * gateway answers with the same successor within 30 s.
 */
export const lockFor = (shared: boolean): Lock =>
  shared && typeof navigator !== 'undefined' && 'locks' in navigator ? acrossTabs : alone
