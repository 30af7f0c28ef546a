import { Refusal } from './refusal.ts'

/** If `signal` aborts while the task waits, the task leaves the queue and the promise rejects with the signal's reason. */
export type RunLimited = <T>(task: () => Promise<T>, signal?: AbortSignal) => Promise<T>

export interface ConcurrencyLimiter {
  /** Throws SYSTEM.UNAVAILABLE if the queue is full. */
  runLimited: RunLimited
  waiting(): number
}

export interface ConcurrencyLimits {
  concurrency: number
  /** Maximum length of the queue. */
  waiting: number
}

export const createConcurrencyLimiter = ({ concurrency, waiting }: ConcurrencyLimits): ConcurrencyLimiter => {
  let running = 0
  const queue: (() => void)[] = []

  const acquire = async (signal?: AbortSignal): Promise<void> => {
    if (running < concurrency) {
      running++
      return
    }
    if (queue.length >= waiting) {
      throw new Refusal('SYSTEM.UNAVAILABLE', { internal: 'the concurrency limiter’s queue is full', retryAfter: 1 })
    }
    signal?.throwIfAborted()
    await new Promise<void>((resolve, reject) => {
      const leave = (): void => {
        queue.splice(queue.indexOf(enter), 1)
        reject(signal?.reason)
      }
      const enter = (): void => {
        signal?.removeEventListener('abort', leave)
        resolve()
      }
      queue.push(enter)
      signal?.addEventListener('abort', leave, { once: true })
    })
  }

  /** Passes the slot on, so that a new task cannot overtake the queue. */
  const release = (): void => {
    const next = queue.shift()
    if (next) next()
    else running--
  }

  return {
    waiting: () => queue.length,
    runLimited: async (task, signal) => {
      await acquire(signal)
      try {
        return await task()
      } finally {
        release()
      }
    },
  }
}
