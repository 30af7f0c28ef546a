import { maxTimerMs } from '../kernel/index.ts'
import { isPorticoError, PorticoError } from './errors.ts'
import { isKeyRead, isReplaced, replacedId, type SentHeaders } from './headers.ts'
import type { RetryRule } from './options.ts'

/** Throws the last failure, or what `assertRepeatable` throws before another attempt. */
export async function retry<T>(
  rule: RetryRule,
  signal: AbortSignal | undefined,
  task: () => Promise<T>,
  assertRepeatable: (error: PorticoError) => void = () => undefined,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await task()
    } catch (error) {
      if (!isTransient(error) || failures >= rule.attempts) throw error
      const retryAfterMs = (error.retryAfter ?? 0) * 1_000
      if (retryAfterMs > rule.maxDelayMs) throw error
      assertRepeatable(error)
      await sleep(Math.max(retryAfterMs, backoffMs(rule, failures)), signal)
    }
  }
}

/** Learns from responses whether a retry is still the same command. One per client. */
export class CommandIdentity {
  #isReplaced = false
  #isKeyRead = false

  learn(sent: SentHeaders, response: Response): void {
    this.#isReplaced ||= isReplaced(sent, response)
    this.#isKeyRead ||= isKeyRead(sent, response)
  }

  /** Throws CLIENT.REQUEST_ID_REPLACED if a retry could execute the command a second time. */
  assertRepeatable(requestId: string, error: PorticoError): void {
    if (!this.#isReplaced || this.#isKeyRead) return
    throw new PorticoError({
      status: error.status,
      code: 'CLIENT.REQUEST_ID_REPLACED',
      message: `the command was not repeated, because ${replacedId}, and no response has confirmed Idempotency-Key`,
      requestId,
      cause: error,
    })
  }
}

/**
 * A status of 502 or higher can mean a lost response (Cloudflare uses 520 to 530). A retry finds out whether the
 * command took effect.
 */
export function isTransient(error: unknown): error is PorticoError {
  return (
    isPorticoError(error, 'CLIENT.NETWORK', 'CLIENT.TIMEOUT', 'REQUEST.IN_PROGRESS') ||
    (error instanceof PorticoError && error.status >= 502)
  )
}

export function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
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
}

/** Exponential, in milliseconds. Half is random, so that clients do not retry at the same time. */
export function backoffMs(rule: RetryRule, failures: number): number {
  const delay = Math.min(rule.firstDelayMs * 2 ** (failures - 1), rule.maxDelayMs)
  return delay / 2 + (Math.random() * delay) / 2
}
