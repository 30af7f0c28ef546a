import type { Durations } from '../kernel/index.ts'

/** How the start of a process waits for a store that is away, such as a database server that restarts. */
export interface StoreWait {
  durations: Pick<Durations, 'after'>
  /** Called after each failed attempt. */
  onAway(store: string, error: unknown): void
  /** Called if the store was away. */
  onBack(store: string): void
  /** Runs the attempts after the first one. Rejects when a signal ends the process. */
  whileAway<T>(attempts: (signal: AbortSignal) => Promise<T>): Promise<T>
}

/** Short, because most restarts of a store take seconds. Doubles each time. */
const firstPauseMs = 250
/** A store that is away for hours is noticed soon after it is back. */
const maxPauseMs = 5_000

/**
 * Opens a store. If it is away, tries again until it is back. Rejects with other errors, such as a wrong password, and
 * without `wait` with every error.
 */
export async function openWhenBack<T extends { close(): Promise<void> }>(
  store: string,
  open: () => Promise<T>,
  isAway: (error: unknown) => boolean,
  wait: StoreWait | null,
): Promise<T> {
  if (!wait) return open()
  const attempt = async (): Promise<T | undefined> => {
    try {
      return await open()
    } catch (error) {
      if (!isAway(error)) throw error
      wait.onAway(store, error)
      return undefined
    }
  }
  const first = await attempt()
  if (first) return first
  return wait.whileAway(async (signal) => {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
      await pause(pauseMs, wait.durations, signal)
      const opened = await attempt()
      // Nobody waits for it after the signal.
      if (opened && signal.aborted) await opened.close()
      signal.throwIfAborted()
      if (!opened) continue
      wait.onBack(store)
      return opened
    }
  })
}

function pause(ms: number, durations: StoreWait['durations'], signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      timer.close()
      reject(signal.reason)
    }
    const timer = durations.after(ms, () => {
      signal.removeEventListener('abort', abort)
      resolve()
    })
    signal.addEventListener('abort', abort, { once: true })
  })
}
