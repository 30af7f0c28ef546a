/**
 * A task's outcome, or the signal's reason as soon as the caller gives up: the task may be waiting for what is not the
 * caller's alone to end, a renewal or the opening of a channel, and that goes on for the others.
 */
export const untilGivenUp = <T>(signal: AbortSignal | undefined, task: () => Promise<T>): Promise<T> => {
  if (!signal) return task()
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const giveUp = (): void => reject(signal.reason)
    signal.addEventListener('abort', giveUp, { once: true })
    task()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', giveUp))
  })
}
