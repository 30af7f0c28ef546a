import { Refusal } from './refusal.ts'

export type RunLimited = <T>(task: () => Promise<T>) => Promise<T>

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

  const acquire = async (): Promise<void> => {
    if (running < concurrency) {
      running++
      return
    }
    if (queue.length >= waiting) {
      throw new Refusal('SYSTEM.UNAVAILABLE', { internal: 'the concurrency limiter’s queue is full', retryAfter: 1 })
    }
    await new Promise<void>((resolve) => queue.push(resolve))
  }

  /** Passes the slot on, so that a new task cannot overtake the queue. */
  const release = (): void => {
    const next = queue.shift()
    if (next) next()
    else running--
  }

  return {
    waiting: () => queue.length,
    runLimited: async (task) => {
      await acquire()
      try {
        return await task()
      } finally {
        release()
      }
    },
  }
}
