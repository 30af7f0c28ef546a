/** Runs a task while no other tab of the same origin runs one under the same name. */
export type Lock = <T>(name: string, task: () => Promise<T>) => Promise<T>

const alone: Lock = (_, task) => task()

/**
 * Web Locks where the storage is shared and the browser has them. Without them two tabs may refresh at once, which the
 * gateway answers with the same successor within 30 s.
 */
export const lockFor = (shared: boolean): Lock => {
  if (!shared || typeof navigator === 'undefined' || !('locks' in navigator)) return alone
  return async (name, task) => navigator.locks.request(name, task)
}
