import { maxTimerMs, type Operation } from '../kernel/index.ts'

/**
 * The gateway repeats the reply to a refresh for 30 s. If a reply is lost, it must be requested again within that time.
 */
const refreshTimeoutMs = 10_000

/**
 * Rejects with the signal's reason as soon as the signal aborts. The task continues, because other calls can wait for
 * the token renewal or the channel that it has started.
 */
export const withAbort = <T>(signal: AbortSignal | undefined, task: () => Promise<T>): Promise<T> => {
  if (!signal) return task()
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const abort = (): void => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    task()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', abort))
  })
}

/** Returns the timeout of one attempt. Returns null for uploads, downloads and an infinite timeout. */
export const attemptTimeout = ({ reply, body, policy }: Operation, timeoutMs: number): AbortSignal | null => {
  if (reply === 'stream' || body === 'multipart') return null
  const limitMs = policy.rate === 'refresh' ? Math.min(timeoutMs, refreshTimeoutMs) : timeoutMs
  // AbortSignal.timeout accepts whole milliseconds only.
  return limitMs > maxTimerMs ? null : AbortSignal.timeout(Math.ceil(limitMs))
}

/** Aborts with the caller's signal or the timeout. */
export const anySignal = (caller: AbortSignal | undefined, timeout: AbortSignal | null): AbortSignal | null => {
  if (!caller || !timeout) return caller ?? timeout
  // Without AbortSignal.any, the timeout ends the request, and the caller's signal ends only the call (withAbort).
  return 'any' in AbortSignal ? AbortSignal.any([caller, timeout]) : timeout
}
