import { maxTimerMs } from '../kernel/index.ts'
import { isPorticoError, PorticoError } from './errors.ts'
import type { RetryRule } from './options.ts'

/**
 * Failures that may pass, and after which the same request id resolves what became of the effect. From 502 on it is an edge
 * that got no answer (520 to 530 are Cloudflare's), or the gateway that got none of a service.
 */
const mayPass = (error: unknown): error is PorticoError =>
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

/** Half of the delay is chance, so that clients that failed together do not come back together. */
const delayOf = (rule: RetryRule, failures: number): number => {
  const delay = Math.min(rule.firstDelayMs * 2 ** (failures - 1), rule.maxDelayMs)
  return delay / 2 + (Math.random() * delay) / 2
}

/** Tries a task again while its failures may pass, up to the rule's bound; the last failure is the one that is thrown. */
export const retry = async <T>(
  rule: RetryRule,
  signal: AbortSignal | undefined,
  task: () => Promise<T>,
): Promise<T> => {
  for (let failures = 1; ; failures++) {
    try {
      return await task()
    } catch (error) {
      if (!mayPass(error) || failures >= rule.attempts) throw error
      const asked = (error.retryAfter ?? 0) * 1_000
      if (asked > rule.maxDelayMs) throw error
      await sleep(Math.max(asked, delayOf(rule, failures)), signal)
    }
  }
}
