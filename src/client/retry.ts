import { maxTimerMs } from '../kernel/index.ts'
import { isPorticoError, PorticoError } from './errors.ts'
import type { RetryRule } from './options.ts'

/**
 * Whether a retry with the same request id can find out whether the command took effect. A status of 502 or higher
 * means that an edge got no response from the gateway (520 to 530 are Cloudflare's), or that the gateway got none from
 * a service.
 */
const isTransient = (error: unknown): error is PorticoError =>
  isPorticoError(error, 'CLIENT.NETWORK', 'CLIENT.TIMEOUT', 'REQUEST.IN_PROGRESS') ||
  (error instanceof PorticoError && error.status >= 502)

const sleep = (milliseconds: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const abort = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', abort)
        resolve()
      },
      Math.min(milliseconds, maxTimerMs),
    )
    signal?.addEventListener('abort', abort, { once: true })
  })

/**
 * Returns an exponential backoff in milliseconds. Half of it is random, so that clients that failed together do not
 * retry together.
 */
const backoffMs = (rule: RetryRule, failures: number): number => {
  const delay = Math.min(rule.firstDelayMs * 2 ** (failures - 1), rule.maxDelayMs)
  return delay / 2 + (Math.random() * delay) / 2
}

/** Retries a task after transient failures, up to the rule's number of attempts. Throws the last failure. */
export const retry = async <T>(
  rule: RetryRule,
  signal: AbortSignal | undefined,
  task: () => Promise<T>,
): Promise<T> => {
  for (let failures = 1; ; failures++) {
    try {
      return await task()
    } catch (error) {
      if (!isTransient(error) || failures >= rule.attempts) throw error
      const retryAfterMs = (error.retryAfter ?? 0) * 1_000
      if (retryAfterMs > rule.maxDelayMs) throw error
      await sleep(Math.max(retryAfterMs, backoffMs(rule, failures)), signal)
    }
  }
}
