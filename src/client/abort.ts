import { maxTimerMs, type Operation } from '../kernel/index.ts'

/**
 * A task's outcome, or the signal's reason as soon as the caller gives up: the task may be waiting for what is not the
 * caller's alone to end, a renewal or the opening of a channel, and that goes on for the others.
 */
export const withAbort = <T>(signal: AbortSignal | undefined, task: () => Promise<T>): Promise<T> => {
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

/** The gateway takes a refresh token again for 30 s after it has answered it; a lost answer is asked for again before. */
const refreshTimeoutMs = 10_000

/** Ends an attempt that takes longer than it may; null for bytes, which take as long as they take. */
export const attemptTimeout = ({ reply, body, policy }: Operation, timeoutMs: number): AbortSignal | null => {
  if (reply === 'stream' || body === 'multipart') return null
  const bound = policy.rate === 'refresh' ? Math.min(timeoutMs, refreshTimeoutMs) : timeoutMs
  // AbortSignal.timeout takes whole milliseconds.
  return bound > maxTimerMs ? null : AbortSignal.timeout(Math.ceil(bound))
}

/** What ends a request: its caller or its time. */
export const anySignal = (caller: AbortSignal | undefined, limit: AbortSignal | null): AbortSignal | null => {
  if (!caller || !limit) return caller ?? limit
  // Where signals cannot be put together the caller's ends the call all the same (giving-up.ts), and its time the request.
  return 'any' in AbortSignal ? AbortSignal.any([caller, limit]) : limit
}
