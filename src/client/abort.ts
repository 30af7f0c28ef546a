import { maxTimerMs } from '../kernel/index.ts'
import type { CallableOperation } from './portal/operation.ts'

/** The gateway repeats the reply to a refresh for only 30 s. */
const refreshTimeoutMs = 10_000

/** The task continues after an abort, because other calls may need its token renewal or channel. */
export function withAbort<T>(signal: AbortSignal | undefined, task: () => Promise<T>): Promise<T> {
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

/** Null for streams and an infinite timeout. */
export function attemptTimeout({ reply, body, policy }: CallableOperation, timeoutMs: number): AbortSignal | null {
  if (typeof reply === 'string' || body === 'multipart' || body === 'raw') return null
  const limitMs = policy.rate === 'refresh' ? Math.min(timeoutMs, refreshTimeoutMs) : timeoutMs
  // AbortSignal.timeout requires whole milliseconds.
  return limitMs > maxTimerMs ? null : AbortSignal.timeout(Math.ceil(limitMs))
}

export function anySignal(caller: AbortSignal | undefined, timeout: AbortSignal | null): AbortSignal | null {
  if (!caller || !timeout) return caller ?? timeout
  // Without AbortSignal.any, the caller's signal only ends the call (withAbort).
  return 'any' in AbortSignal ? AbortSignal.any([caller, timeout]) : timeout
}
