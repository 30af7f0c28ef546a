/**
 * Runs a task under a lock that all tabs of an origin share by its name. `waited` is true if another tab had the lock
 * before.
 */
export type TabLock = <T>(name: string, task: (waited: boolean) => Promise<T>) => Promise<T>

const noLock: TabLock = (_, task) => task(false)

/** Longer than one attempt of a token renewal takes (abort.ts). */
const lockTimeoutMs = 11_000

/** Runs a task under a lock, or without it if the request for the lock fails. Errors of the task itself are rethrown. */
const withLock = async <T>(
  task: () => Promise<T>,
  requestLock: (locked: () => Promise<T>) => Promise<T>,
): Promise<T> => {
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

/** Waits for the lock with a timeout, because a frozen or debugged tab would never release it. */
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
 * Creates the lock: a Web Lock if the storage is shared between tabs and the browser has Web Locks. Without a lock, two
 * tabs can refresh concurrently, for example in a sandboxed frame or after a timeout. The gateway then gives both the
 * same successor within 30 s.
 */
export const createTabLock = (shared: boolean): TabLock =>
  shared && typeof navigator !== 'undefined' && 'locks' in navigator ? webLock : noLock

const pollMs = 25
const maxPollMs = 500

/**
 * Reads until the value has changed. A browser shows a localStorage write of one tab to other tabs with a delay that
 * locks do not cover. Returns the unchanged value after half a second.
 */
export const readUntilChanged = async <T>(read: () => Promise<T>, hasChanged: (value: T) => boolean): Promise<T> => {
  for (let waitedMs = 0; ; waitedMs += pollMs) {
    const value = await read()
    if (hasChanged(value) || waitedMs >= maxPollMs) return value
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}
