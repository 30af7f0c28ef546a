/** `waited` is true if another tab held the lock before. */
export type TabLock = <T>(name: string, task: (waited: boolean) => Promise<T>) => Promise<T>

const noLock: TabLock = (_, task) => task(false)

/** Longer than one attempt of a token renewal (abort.ts). */
const lockTimeoutMs = 11_000

/** A frozen or debugged tab never releases its lock. */
const waitForLock: TabLock = (name, task) =>
  withLock(
    () => task(true),
    (locked) => navigator.locks.request(name, { signal: AbortSignal.timeout(lockTimeoutMs) }, locked),
  )

const webLock: TabLock = async <T>(name: string, task: (waited: boolean) => Promise<T>) => {
  const first = async (): Promise<{ result: T } | null> => ({ result: await task(false) })
  const immediate = await withLock(first, (locked) =>
    navigator.locks.request(name, { ifAvailable: true }, async (lock) => (lock ? locked() : null)),
  )
  return immediate ? immediate.result : waitForLock(name, task)
}

/**
 * Without a lock, for example in a sandboxed frame or after a timeout, two tabs can refresh concurrently. The gateway
 * gives both the same tokens until the new refresh token is used.
 */
export function createTabLock(storage: object | undefined): TabLock {
  if (!storage || typeof navigator === 'undefined' || !('locks' in navigator)) return noLock
  // A server has a storage for each user. In a page, tabs can share a storage that each has its own object for.
  const suffix = 'document' in globalThis || 'WorkerGlobalScope' in globalThis ? '' : `:${numberOf(storage)}`
  return (name, task) => webLock(name + suffix, task)
}

const numbers = new WeakMap<object, number>()
let lastNumber = 0

const pollMs = 25
const maxPollMs = 500

/**
 * localStorage writes reach other tabs with a delay that locks do not cover. Waits up to half a second and returns the
 * last value.
 */
export async function readUntilChanged<T>(read: () => Promise<T>, hasChanged: (value: T) => boolean): Promise<T> {
  for (let waitedMs = 0; ; waitedMs += pollMs) {
    const value = await read()
    if (hasChanged(value) || waitedMs >= maxPollMs) return value
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}

/** Runs the task without a lock if none can be requested. */
async function withLock<T>(task: () => Promise<T>, requestLock: (locked: () => Promise<T>) => Promise<T>): Promise<T> {
  const state = { started: false }
  const locked = (): Promise<T> => {
    state.started = true
    return task()
  }
  try {
    return await requestLock(locked)
  } catch (error) {
    if (state.started) throw error
    return task()
  }
}

function numberOf(storage: object): number {
  const known = numbers.get(storage) ?? ++lastNumber
  numbers.set(storage, known)
  return known
}
